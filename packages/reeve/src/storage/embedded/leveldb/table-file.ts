import { ByteReader, CorruptFileError, crc32c, readUint32, unmaskCrc } from './byte-reader.ts'

const FOOTER_BYTES = 48
const TRAILER_BYTES = 5
/** Sequence and kind, behind every key. */
const KEY_TRAILER_BYTES = 8
const MAGIC = Buffer.from('57fb808b247547db', 'hex')

/**
 * Verifies the checksums of a table file. LevelDB reads blocks unchecked, and a damaged block can
 * make rows disappear without an error.
 */
export function verifyTable(file: Uint8Array): void {
  if (file.length < FOOTER_BYTES) throw new CorruptFileError(0, 'the file is too short')
  const footerOffset = file.length - FOOTER_BYTES
  if (!MAGIC.equals(file.subarray(file.length - MAGIC.length))) {
    throw new CorruptFileError(footerOffset, 'the file does not end as a table does')
  }
  const footer = new ByteReader(file, footerOffset, file.length - MAGIC.length)
  const metaIndex = readHandle(footer)
  const index = readHandle(footer)
  const indexBlock = readBlock(file, index)
  const dataEnd = verifyDataBlocks(file, indexBlock)
  // The gap between data and meta index is the filter block.
  if (metaIndex.offset > dataEnd) verifyBlock(file, handleBetween(dataEnd, metaIndex.offset))
  verifyBlock(file, metaIndex)
  if (blockEndOffset(metaIndex) !== index.offset || blockEndOffset(index) !== footerOffset) {
    throw new CorruptFileError(footerOffset, 'the blocks do not fill the file')
  }
}

/** One version of a key, as a table or a write-ahead log holds it. */
export interface KeyVersion {
  readonly key: string
  /** Of two versions of a key the one with the higher sequence is newer. */
  readonly sequence: number
  /** Undefined where the key was deleted. */
  readonly value: Uint8Array | undefined
}

/**
 * Yields the content of the intact blocks of a table. Calls `onDamage` for each damaged one;
 * without its index no block of a table can be found.
 */
export function* salvageTable(
  file: Uint8Array,
  onDamage: (damage: CorruptFileError) => void,
): Generator<KeyVersion> {
  let handles: readonly BlockHandle[] = []
  try {
    if (file.length < FOOTER_BYTES) throw new CorruptFileError(0, 'the file is too short')
    const footer = new ByteReader(file, file.length - FOOTER_BYTES, file.length - MAGIC.length)
    readHandle(footer)
    handles = [...decodeHandles(readBlock(file, readHandle(footer)))]
  } catch (thrown) {
    if (!(thrown instanceof CorruptFileError)) throw thrown
    onDamage(thrown)
  }
  for (const handle of handles)
    try {
      yield* decodeVersions(readBlock(file, handle))
    } catch (thrown) {
      if (!(thrown instanceof CorruptFileError)) throw thrown
      onDamage(new CorruptFileError(handle.offset, thrown.message))
    }
}

/** Decodes the keys of a data block, each of which shares a prefix with the previous one. */
function decodeVersions(block: Uint8Array): KeyVersion[] {
  const versions: KeyVersion[] = []
  let previousKey = Buffer.alloc(0)
  for (const { shared, key, value } of decodeBlockEntries(block)) {
    previousKey = Buffer.concat([previousKey.subarray(0, shared), key])
    versions.push(toVersion(previousKey, value))
  }
  return versions
}

function toVersion(internal: Buffer, value: Uint8Array): KeyVersion {
  const end = internal.length - KEY_TRAILER_BYTES
  if (end < 0) throw new CorruptFileError(0, 'a key is too short')
  const low = internal.readUInt32LE(end)
  const sequence = Math.floor(low / 256) + internal.readUInt32LE(end + 4) * 2 ** 24
  const isDeleted = (low & 0xff) === 0
  return {
    key: internal.toString('utf8', 0, end),
    sequence,
    value: isDeleted ? undefined : value,
  }
}

interface BlockHandle {
  readonly offset: number
  readonly size: number
}

/** Data blocks lie one after the other from the start. Returns where they end. */
function verifyDataBlocks(file: Uint8Array, indexBlock: Uint8Array): number {
  let end = 0
  for (const handle of decodeHandles(indexBlock)) {
    if (handle.offset !== end) throw new CorruptFileError(end, 'a block is missing from the index')
    verifyBlock(file, handle)
    end = blockEndOffset(handle)
  }
  return end
}

/** An index block's values are the handles of the data blocks, in order. */
function* decodeHandles(block: Uint8Array): Generator<BlockHandle> {
  for (const { value } of decodeBlockEntries(block)) {
    const reader = new ByteReader(value)
    yield readHandle(reader)
    if (!reader.isAtEnd) throw new CorruptFileError(reader.offset, 'an index block is malformed')
  }
}

/** Keys (without what they share with the one before) and values of a block. */
function* decodeBlockEntries(block: Uint8Array) {
  if (block.length < 4) throw new CorruptFileError(0, 'a block is too short')
  const restarts = readUint32(block, block.length - 4)
  const end = block.length - 4 - restarts * 4
  if (end < 0) throw new CorruptFileError(0, 'a block is malformed')
  const reader = new ByteReader(block, 0, end)
  while (!reader.isAtEnd) {
    const shared = reader.readVarint()
    const keyBytes = reader.readVarint()
    const valueBytes = reader.readVarint()
    yield { shared, key: reader.readBytes(keyBytes), value: reader.readBytes(valueBytes) }
  }
}

function readBlock(file: Uint8Array, handle: BlockHandle): Uint8Array {
  verifyBlock(file, handle)
  const content = file.subarray(handle.offset, handle.offset + handle.size)
  const compression = file[handle.offset + handle.size]
  if (compression === 0) return content
  if (compression === 1) return uncompressSnappy(content)
  throw new CorruptFileError(handle.offset, 'a block is compressed in an unknown way')
}

/** A block is followed by one byte for its compression and a checksum over both. */
function verifyBlock(file: Uint8Array, handle: BlockHandle): void {
  const crcOffset = handle.offset + handle.size + 1
  if (handle.size < 0 || crcOffset + 4 > file.length) {
    throw new CorruptFileError(handle.offset, 'a block reaches past the end of the file')
  }
  if (crc32c(file, handle.offset, crcOffset) !== unmaskCrc(readUint32(file, crcOffset))) {
    throw new CorruptFileError(handle.offset, 'a checksum does not match')
  }
}

function readHandle(reader: ByteReader): BlockHandle {
  const offset = reader.readVarint()
  return { offset, size: reader.readVarint() }
}

function handleBetween(start: number, end: number): BlockHandle {
  return { offset: start, size: end - start - TRAILER_BYTES }
}

function blockEndOffset(handle: BlockHandle): number {
  return handle.offset + handle.size + TRAILER_BYTES
}

/** Limit of the decompressed size; a larger index block would cover more than a table can hold. */
const OUTPUT_BYTES_MAX = 256 * 1024 * 1024

/** Decompresses one block (Snappy raw format). */
export function uncompressSnappy(input: Uint8Array): Uint8Array {
  const reader = new ByteReader(input)
  const length = reader.readVarint()
  // Three bytes of input can make at most 64 of output.
  if (length > OUTPUT_BYTES_MAX || length > input.length * 64) {
    throw new CorruptFileError(0, 'a compressed block claims an impossible length')
  }
  const output = Buffer.alloc(length)
  let at = 0
  while (!reader.isAtEnd) at = readElement(reader, output, at)
  if (at !== length) throw new CorruptFileError(reader.offset, 'a compressed block ends too early')
  return output
}

/** One element: literal bytes, or a copy of earlier output. Returns the new output position. */
function readElement(reader: ByteReader, output: Buffer, outputOffset: number): number {
  const tag = readLittleEndian(reader, 1)
  const kind = tag & 3
  if (kind === 0) return readLiteral(reader, output, { at: outputOffset, tag })
  const length = kind === 1 ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1
  const offset =
    kind === 1
      ? ((tag >>> 5) << 8) | readLittleEndian(reader, 1)
      : readLittleEndian(reader, kind === 2 ? 2 : 4)
  if (offset === 0 || offset > outputOffset || outputOffset + length > output.length) {
    throw new CorruptFileError(reader.offset, 'a compressed block refers outside itself')
  }
  // Source and target may overlap, which encodes runs, so bytes are copied one by one.
  for (let i = 0; i < length; i++) output[outputOffset + i] = output[outputOffset + i - offset] ?? 0
  return outputOffset + length
}

function readLiteral(
  reader: ByteReader,
  output: Buffer,
  { at, tag }: { at: number; tag: number },
): number {
  const tagLength = tag >>> 2
  const length = (tagLength < 60 ? tagLength : readLittleEndian(reader, tagLength - 59)) + 1
  if (at + length > output.length) {
    throw new CorruptFileError(reader.offset, 'a compressed block is longer than it claims')
  }
  output.set(reader.readBytes(length), at)
  return at + length
}

function readLittleEndian(reader: ByteReader, bytes: number): number {
  return reader.readBytes(bytes).reduceRight((value, byte) => value * 256 + byte, 0)
}
