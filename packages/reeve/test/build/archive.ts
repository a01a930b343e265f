import { crc32, deflateRawSync } from 'node:zlib'

/** One entry of an archive made for a test; whatever it says is written as it is. */
export interface TarEntry {
  readonly path: string
  readonly type?: string
  readonly text?: string
  readonly target?: string
  readonly mode?: number
  /** What the header claims, when it is not the length of the text. */
  readonly size?: number
}

/** The bytes of a tar archive. */
export function aTar(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.flatMap((entry) => {
    const body = Buffer.from(entry.text ?? '')
    const padding = Buffer.alloc((512 - (body.length % 512)) % 512)
    return [tarHeader(entry, body.length), body, padding]
  })
  return Buffer.concat([...blocks, Buffer.alloc(1_024)])
}

function tarHeader(entry: TarEntry, length: number): Buffer {
  const { path, type = '0', target = '', mode = 0o644, size = length } = entry
  const block = Buffer.alloc(512)
  block.write(path, 0, 100)
  block.write(`${mode.toString(8).padStart(7, '0')}\0`, 100)
  block.write('0000000\0', 108)
  block.write('0000000\0', 116)
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
  block.write('00000000000\0', 136)
  block.write('        ', 148)
  block.write(type, 156)
  block.write(target, 157, 100)
  block.write('ustar\x0000', 257)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

export interface ZipEntry {
  readonly path: string
  readonly text?: string
  readonly mode?: number
  readonly isStored?: boolean
  readonly crc?: number
}

/** The bytes of a zip archive. */
export function aZip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const entry of entries) {
    const { path, text = '', mode = 0o100644, isStored = false } = entry
    const name = Buffer.from(path)
    const body = Buffer.from(text)
    const packed = isStored ? body : deflateRawSync(body)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(isStored ? 0 : 8, 4)
    fields.writeUInt32LE(entry.crc ?? crc32(body), 10)
    fields.writeUInt32LE(packed.length, 14)
    fields.writeUInt32LE(body.length, 18)
    fields.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([mark(0x04034b50), fields, name, packed])
    const outside = Buffer.alloc(14)
    outside.writeUInt32LE((mode << 16) >>> 0, 6)
    outside.writeUInt32LE(at, 10)
    directory.push(mark(0x02014b50), Buffer.from([20, 3]), fields, outside, name)
    parts.push(local)
    at += local.length
  }
  const listing = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(entries.length, 4)
  end.writeUInt16LE(entries.length, 6)
  end.writeUInt32LE(listing.length, 8)
  end.writeUInt32LE(at, 12)
  return Buffer.concat([...parts, listing, mark(0x06054b50), end])
}

function mark(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
