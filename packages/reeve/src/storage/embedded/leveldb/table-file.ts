import { ByteReader, uint32At } from './byte-reader.ts'
import { crc32c, unmaskedCrc } from './crc32c.ts'
import { Damage } from './damage.ts'
import { uncompressSnappy } from './snappy.ts'

const FOOTER_BYTES = 48
const TRAILER_BYTES = 5
/** Sequence and kind, behind every key. */
const KEY_TRAILER_BYTES = 8
const MAGIC = Buffer.from('57fb808b247547db', 'hex')

/**
 * Checks every byte of a table file against its checksums. The database does not: it reads blocks
 * unchecked, and a damaged block can make rows vanish without an error.
 */
export function verifyTable(file: Uint8Array): void {
  if (file.length < FOOTER_BYTES) throw new Damage(0, 'the file is too short')
  const footerAt = file.length - FOOTER_BYTES
  if (!MAGIC.equals(file.subarray(file.length - MAGIC.length))) {
    throw new Damage(footerAt, 'the file does not end as a table does')
  }
  const footer = new ByteReader(file, footerAt, file.length - MAGIC.length)
  const metaIndex = readHandle(footer)
  const index = readHandle(footer)
  const indexBlock = contentOf(file, index)
  const dataEnd = verifyDataBlocks(file, indexBlock)
  // What lies between the data and the meta index is the filter, one block.
  if (metaIndex.offset > dataEnd) verifyBlock(file, handleBetween(dataEnd, metaIndex.offset))
  verifyBlock(file, metaIndex)
  if (endOf(metaIndex) !== index.offset || endOf(index) !== footerAt) {
    throw new Damage(footerAt, 'the blocks do not fill the file')
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
 * The content of the blocks of a table that are sound, block by block. Calls `onDamage` for each of
 * the others; without its index nothing of a table can be found.
 */
export function* salvageTable(
  file: Uint8Array,
  onDamage: (damage: Damage) => void,
): Generator<KeyVersion> {
  let handles: readonly Handle[] = []
  try {
    if (file.length < FOOTER_BYTES) throw new Damage(0, 'the file is too short')
    const footer = new ByteReader(file, file.length - FOOTER_BYTES, file.length - MAGIC.length)
    readHandle(footer)
    handles = [...handlesIn(contentOf(file, readHandle(footer)))]
  } catch (thrown) {
    if (!(thrown instanceof Damage)) throw thrown
    onDamage(thrown)
  }
  for (const handle of handles)
    try {
      yield* versionsIn(contentOf(file, handle))
    } catch (thrown) {
      if (!(thrown instanceof Damage)) throw thrown
      onDamage(new Damage(handle.offset, thrown.message))
    }
}

/** The keys of a data block: each shares its beginning with the one before. */
function versionsIn(block: Uint8Array): KeyVersion[] {
  const versions: KeyVersion[] = []
  let before = Buffer.alloc(0)
  for (const { shared, key, value } of entriesIn(block)) {
    before = Buffer.concat([before.subarray(0, shared), key])
    versions.push(toVersion(before, value))
  }
  return versions
}

function toVersion(internal: Buffer, value: Uint8Array): KeyVersion {
  const end = internal.length - KEY_TRAILER_BYTES
  if (end < 0) throw new Damage(0, 'a key is too short')
  const low = internal.readUInt32LE(end)
  const sequence = Math.floor(low / 256) + internal.readUInt32LE(end + 4) * 2 ** 24
  const isDeleted = (low & 0xff) === 0
  return {
    key: internal.toString('utf8', 0, end),
    sequence,
    value: isDeleted ? undefined : value,
  }
}

interface Handle {
  readonly offset: number
  readonly size: number
}

/** Data blocks lie one after the other from the start. Returns where they end. */
function verifyDataBlocks(file: Uint8Array, indexBlock: Uint8Array): number {
  let end = 0
  for (const handle of handlesIn(indexBlock)) {
    if (handle.offset !== end) throw new Damage(end, 'a block is missing from the index')
    verifyBlock(file, handle)
    end = endOf(handle)
  }
  return end
}

/** An index block's values are the handles of the data blocks, in order. */
function* handlesIn(block: Uint8Array): Generator<Handle> {
  for (const { value } of entriesIn(block)) {
    const reader = new ByteReader(value)
    yield readHandle(reader)
    if (!reader.done) throw new Damage(reader.at, 'an index block is malformed')
  }
}

/** Keys (without what they share with the one before) and values of a block. */
function* entriesIn(block: Uint8Array) {
  if (block.length < 4) throw new Damage(0, 'a block is too short')
  const restarts = uint32At(block, block.length - 4)
  const end = block.length - 4 - restarts * 4
  if (end < 0) throw new Damage(0, 'a block is malformed')
  const reader = new ByteReader(block, 0, end)
  while (!reader.done) {
    const shared = reader.varint()
    const keyBytes = reader.varint()
    const valueBytes = reader.varint()
    yield { shared, key: reader.take(keyBytes), value: reader.take(valueBytes) }
  }
}

function contentOf(file: Uint8Array, handle: Handle): Uint8Array {
  verifyBlock(file, handle)
  const content = file.subarray(handle.offset, handle.offset + handle.size)
  const compression = file[handle.offset + handle.size]
  if (compression === 0) return content
  if (compression === 1) return uncompressSnappy(content)
  throw new Damage(handle.offset, 'a block is compressed in an unknown way')
}

/** A block is followed by one byte for its compression and a checksum over both. */
function verifyBlock(file: Uint8Array, handle: Handle): void {
  const crcAt = handle.offset + handle.size + 1
  if (handle.size < 0 || crcAt + 4 > file.length) {
    throw new Damage(handle.offset, 'a block reaches past the end of the file')
  }
  if (crc32c(file, handle.offset, crcAt) !== unmaskedCrc(uint32At(file, crcAt))) {
    throw new Damage(handle.offset, 'a checksum does not match')
  }
}

function readHandle(reader: ByteReader): Handle {
  const offset = reader.varint()
  return { offset, size: reader.varint() }
}

function handleBetween(start: number, end: number): Handle {
  return { offset: start, size: end - start - TRAILER_BYTES }
}

function endOf(handle: Handle): number {
  return handle.offset + handle.size + TRAILER_BYTES
}
