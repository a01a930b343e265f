/** One entry as it is packed. The body has exactly `size` bytes. */
export interface Packed {
  readonly path: string
  readonly kind: 'file' | 'directory' | 'symlink'
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly size: number
  /** Of a link. */
  readonly target: string
}

const BLOCK = 512
const NAME_BYTES = 100
const OCTAL_SIZE_MAX = 8 ** 11 - 1

/** What stands before the body of an entry: its header, and records for what does not fit there. */
export function tarHeader(entry: Packed): Buffer {
  const records = [
    ...(Buffer.byteLength(entry.path) > NAME_BYTES ? [['path', entry.path] as const] : []),
    ...(Buffer.byteLength(entry.target) > NAME_BYTES ? [['linkpath', entry.target] as const] : []),
    ...(entry.size > OCTAL_SIZE_MAX ? [['size', String(entry.size)] as const] : []),
  ]
  if (records.length === 0) return block(entry, TYPES[entry.kind])
  const body = Buffer.concat(records.map(([name, value]) => record(name, value)))
  const before = { ...entry, path: 'record', target: '', size: body.length, mode: 0o600 }
  return Buffer.concat([
    block(before, 'x'),
    body,
    tarPadding(body.length),
    block(entry, TYPES[entry.kind]),
  ])
}

/** Bodies fill whole blocks. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)
}

export const TAR_END = Buffer.alloc(2 * BLOCK)

const TYPES = { file: '0', directory: '5', symlink: '2' } as const

function block({ path, mode, uid, gid, size, target }: Packed, type: string): Buffer {
  const header = Buffer.alloc(BLOCK)
  header.write(path.slice(0, NAME_BYTES), 0, NAME_BYTES)
  header.write(octal(mode, 7), 100)
  header.write(octal(uid, 7), 108)
  header.write(octal(gid, 7), 116)
  header.write(octal(Math.min(size, OCTAL_SIZE_MAX), 11), 124)
  header.write(octal(0, 11), 136)
  header.write(' '.repeat(8), 148)
  header.write(type, 156)
  header.write(target.slice(0, NAME_BYTES), 157, NAME_BYTES)
  header.write('ustar', 257)
  header.write('00', 263)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${octal(sum, 6)}\0 `, 148)
  return header
}

/** A number that does not fit is nobody's: 0 would be root's. */
function octal(value: number, digits: number): string {
  const fitting = value < 8 ** digits ? value : 65_534
  return fitting.toString(8).padStart(digits, '0')
}

/** `<length> <key>=<value>\n`, where the length counts the whole line, itself too. */
function record(name: string, value: string): Buffer {
  const rest = ` ${name}=${value}\n`
  const bytes = Buffer.byteLength(rest)
  let length = bytes
  while (length !== bytes + String(length).length) length = bytes + String(length).length
  return Buffer.from(`${length}${rest}`)
}
