// Stands for a header of gloo that the libtorch wheel leaves out; nothing of it is used here.
#pragma once
