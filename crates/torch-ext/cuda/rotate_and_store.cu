// Rotates queries and keys, and puts keys and values in their places of the cache; a thread turns two neighbours of the first half of a
// head and the two of the second half that belong to them. blockIdx.x is the row.
//
// product [rows, queries + 2 · shared, 4 · quarter]; cosine and sine [rows, 2 · quarter]; places [rows], of `capacity`;
// query [rows, queries, 4 · quarter]; keys and values [capacity, shared, 4 · quarter]. A row whose place is none is not stored.
extern "C" __global__ void rotate_and_store(const Words* product, const float* cosine, const float* sine, const long long* places,
                                            Words* query, Words* keys, Words* values, long long queries, long long shared,
                                            long long quarter, long long capacity) {
  const long long row = blockIdx.x, width = 2 * quarter;
  const unsigned thread = blockIdx.y * blockDim.x + threadIdx.x;
  const unsigned head = thread / (unsigned)quarter, word = thread % (unsigned)quarter;
  if (head >= queries + 2 * shared) return;
  product += (row * (queries + 2 * shared) + head) * width;
  Words first = product[word], second = product[word + quarter];
  if (head < queries + shared) turn(first, second, cosine, sine, row * width + 2 * word, 1);
  Words* to;
  if (head < queries) {
    to = query + (row * queries + head) * width;
  } else {
    const long long place = places[row];
    if (place < 0 || place >= capacity) return;
    const bool is_key = head < queries + shared;
    to = (is_key ? keys : values) + (place * shared + head - queries - (is_key ? 0 : shared)) * width;
  }
  to[word] = first;
  to[word + quarter] = second;
}
