/** One tar entry. Its body has exactly `size` bytes. */
export interface TarHeaderEntry {
  readonly path: string
  readonly kind: 'file' | 'directory' | 'symlink'
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly size: number
  /** Target of a link. */
  readonly target: string
}

const BLOCK_BYTES = 512
const NAME_BYTES_MAX = 100
const OCTAL_SIZE_MAX = 8 ** 11 - 1

/** Header of an entry, preceded by a pax header for fields that do not fit. */
export function tarHeader(entry: TarHeaderEntry): Buffer {
  const records = [
    ...(Buffer.byteLength(entry.path) > NAME_BYTES_MAX ? [['path', entry.path] as const] : []),
    ...(Buffer.byteLength(entry.target) > NAME_BYTES_MAX
      ? [['linkpath', entry.target] as const]
      : []),
    ...(entry.size > OCTAL_SIZE_MAX ? [['size', String(entry.size)] as const] : []),
  ]
  if (records.length === 0) return headerBlock(entry, TYPE_FLAGS[entry.kind])
  const paxBody = Buffer.concat(records.map(([name, value]) => paxRecord(name, value)))
  const paxHeader = { ...entry, path: 'record', target: '', size: paxBody.length, mode: 0o600 }
  return Buffer.concat([
    headerBlock(paxHeader, 'x'),
    paxBody,
    tarPadding(paxBody.length),
    headerBlock(entry, TYPE_FLAGS[entry.kind]),
  ])
}

/** Padding after a body: bodies fill whole blocks. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES)
}

export const TAR_END = Buffer.alloc(2 * BLOCK_BYTES)

const TYPE_FLAGS = { file: '0', directory: '5', symlink: '2' } as const

function headerBlock({ path, mode, uid, gid, size, target }: TarHeaderEntry, type: string): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES)
  header.write(path.slice(0, NAME_BYTES_MAX), 0, NAME_BYTES_MAX)
  header.write(octalField(mode, 7), 100)
  header.write(octalField(uid, 7), 108)
  header.write(octalField(gid, 7), 116)
  header.write(octalField(Math.min(size, OCTAL_SIZE_MAX), 11), 124)
  header.write(octalField(0, 11), 136)
  header.write(' '.repeat(8), 148)
  header.write(type, 156)
  header.write(target.slice(0, NAME_BYTES_MAX), 157, NAME_BYTES_MAX)
  header.write('ustar', 257)
  header.write('00', 263)
  const checksum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${octalField(checksum, 6)}\0 `, 148)
  return header
}

/** Octal field. A UID or GID that does not fit becomes 65534 (nobody): 0 would be root. */
function octalField(value: number, digits: number): string {
  const storable = value < 8 ** digits ? value : 65_534
  return storable.toString(8).padStart(digits, '0')
}

/** A pax record `<length> <key>=<value>\n`, whose length includes itself. */
function paxRecord(name: string, value: string): Buffer {
  const rest = ` ${name}=${value}\n`
  const bytes = Buffer.byteLength(rest)
  let length = bytes
  while (length !== bytes + String(length).length) length = bytes + String(length).length
  return Buffer.from(`${length}${rest}`)
}
