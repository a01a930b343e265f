/** The package for Red Hat's family, written without its tools (format version 4). */
import { createHash } from 'node:crypto'
import { constants, zstdCompressSync } from 'node:zlib'
import { withParentDirectories, createCpio, modeWithType, type Entry } from './archive.ts'
import type { Package } from './system-package.ts'

const ARCHITECTURES = { x64: 'x86_64', arm64: 'aarch64' } as const

type Value =
  | { readonly type: 'int16' | 'int32'; readonly values: readonly number[] }
  | { readonly type: 'text'; readonly values: readonly [string] }
  | { readonly type: 'texts' | 'translated'; readonly values: readonly string[] }
  | { readonly type: 'bytes'; readonly values: Buffer }

type Tags = ReadonlyMap<number, Value>

export function rpmName({ stamp }: Package): string {
  return `reeve-${stamp.version}-1.${ARCHITECTURES[stamp.target.arch]}.rpm`
}

export function rpmOf(given: Package): Buffer {
  const { stamp } = given
  // Directories of the system belong to other packages.
  const entries = withParentDirectories(given.entries).filter(
    ({ kind, path }) => kind !== 'directory' || OWN.test(path),
  )
  const archive = createCpio(entries, stamp.epoch)
  const payload = zstdCompressSync(archive, {
    params: { [constants.ZSTD_c_compressionLevel]: 12 },
    maxOutputLength: 1 << 30,
  })
  const header = headerOf(mainTags(given, entries, payload), 63)
  const body = Buffer.concat([header, payload])
  const signature = headerOf(signatureTags(header, body, archive.length), 62)
  const rest = signature.length % 8
  const gap = Buffer.alloc(rest === 0 ? 0 : 8 - rest)
  return Buffer.concat([lead(given), signature, gap, body])
}

const OWN = /^(?:usr\/lib\/reeve|etc\/reeve\.d|usr\/share\/doc\/reeve)(?:\/|$)/

function lead({ stamp }: Package): Buffer {
  const block = Buffer.alloc(96)
  block.writeUInt32BE(0xed_ab_ee_db, 0)
  block.writeUInt8(3, 4)
  block.writeUInt16BE(stamp.target.arch === 'x64' ? 1 : 19, 8)
  block.write(`reeve-${stamp.version}-1`.slice(0, 65), 10)
  block.writeUInt16BE(1, 76)
  block.writeUInt16BE(5, 78)
  return block
}

function signatureTags(header: Buffer, body: Buffer, archiveBytes: number): Tags {
  return new Map<number, Value>([
    [269, text(createHash('sha1').update(header).digest('hex'))],
    [273, text(createHash('sha256').update(header).digest('hex'))],
    [1000, int32(body.length)],
    [1004, { type: 'bytes', values: createHash('md5').update(body).digest() }],
    [1007, int32(archiveBytes)],
  ])
}

const text = (value: string): Value => ({ type: 'text', values: [value] })
const texts = (...values: string[]): Value => ({ type: 'texts', values })
const translated = (value: string): Value => ({ type: 'translated', values: [value] })
const int32 = (...values: number[]): Value => ({ type: 'int32', values })
const int16 = (...values: number[]): Value => ({ type: 'int16', values })

/** Of a dependency: less, equal, greater; and that rpm itself must be able to do it. */
const [LESS, GREATER, EQUAL, RPMLIB] = [2, 4, 8, 1 << 24]

const REQUIRES: readonly (readonly [name: string, flags: number, version: string])[] = [
  ['/bin/sh', 0, ''],
  ['glibc', GREATER | EQUAL, '2.28'],
  ['libatomic', 0, ''],
  ['libgcc', 0, ''],
  ['libstdc++', 0, ''],
  ['rpmlib(CompressedFileNames)', RPMLIB | LESS | EQUAL, '3.0.4-1'],
  ['rpmlib(FileDigests)', RPMLIB | LESS | EQUAL, '4.6.0-1'],
  ['rpmlib(PayloadFilesHavePrefix)', RPMLIB | LESS | EQUAL, '4.0-1'],
  ['rpmlib(PayloadIsZstd)', RPMLIB | LESS | EQUAL, '5.4.18-1'],
]

function mainTags(given: Package, entries: readonly Entry[], payload: Buffer): Tags {
  const { stamp, scripts, summary, description } = given
  const arch = ARCHITECTURES[stamp.target.arch]
  const size = entries.reduce((sum, { data }) => sum + data.length, 0)
  return new Map<number, Value>([
    [100, texts('C')],
    [1000, text('reeve')],
    [1001, text(stamp.version)],
    [1002, text('1')],
    [1004, translated(summary)],
    [1005, translated(description.join('\n'))],
    [1006, int32(stamp.epoch)],
    [1007, text('reeve')],
    [1009, int32(size)],
    [1014, text('Apache-2.0')],
    [1016, translated('System Environment/Daemons')],
    [1020, text('https://github.com/reeve/reeve')],
    [1021, text('linux')],
    [1022, text(arch)],
    [1024, text(scripts.postinst)],
    [1025, text(scripts.prerm)],
    [1026, text(scripts.postrm)],
    ...fileTags(given, entries),
    [1044, text(`reeve-${stamp.version}-1.src.rpm`)],
    [1047, texts('reeve')],
    [1048, int32(...REQUIRES.map(([, flags]) => flags))],
    [1049, texts(...REQUIRES.map(([name]) => name))],
    [1050, texts(...REQUIRES.map(([, , version]) => version))],
    [1064, text('4.18.0')],
    ...[1086, 1087, 1088].map((tag) => [tag, text('/bin/sh')] as const),
    [1112, int32(EQUAL)],
    [1113, texts(`${stamp.version}-1`)],
    [1124, text('cpio')],
    [1125, text('zstd')],
    [1126, text('12')],
    [1132, text(`${arch}-linux`)],
    [5011, int32(8)],
    [5092, texts(createHash('sha256').update(payload).digest('hex'))],
    [5093, int32(8)],
  ])
}

/** %config(noreplace). */
const KEPT = 1 | 16

function fileTags(given: Package, entries: readonly Entry[]): [number, Value][] {
  const folders = [...new Set(entries.map(({ path }) => folderOf(path)))]
  const size = ({ kind, data, target }: Entry): number =>
    kind === 'link' ? target.length : kind === 'directory' ? 4096 : data.length
  const digest = ({ kind, data }: Entry): string =>
    kind === 'file' ? createHash('sha256').update(data).digest('hex') : ''
  const each = (of: (entry: Entry, index: number) => number): number[] => entries.map(of)
  const signed = (mode: number): number => (mode > 0x7f_ff ? mode - 0x1_00_00 : mode)
  return [
    [1028, int32(...each(size))],
    [1030, int16(...each((entry) => signed(modeWithType(entry))))],
    [1033, int16(...each(() => 0))],
    [1034, int32(...each(() => given.stamp.epoch))],
    [1035, texts(...entries.map(digest))],
    [1036, texts(...entries.map(({ target }) => target))],
    [1037, int32(...each(({ path }) => (given.configuration.includes(path) ? KEPT : 0)))],
    [1039, texts(...entries.map(() => 'root'))],
    [1040, texts(...entries.map(() => 'root'))],
    [1045, int32(...each(() => -1))],
    [1095, int32(...each(() => 1))],
    [1096, int32(...each((_entry, index) => index + 1))],
    [1097, texts(...entries.map(() => ''))],
    [1116, int32(...each(({ path }) => folders.indexOf(folderOf(path))))],
    [1117, texts(...entries.map(({ path }) => path.slice(path.lastIndexOf('/') + 1)))],
    [1118, texts(...folders)],
  ]
}

function folderOf(path: string): string {
  return `/${path.slice(0, path.lastIndexOf('/') + 1)}`
}

const TYPES = { int16: 3, int32: 4, text: 6, bytes: 7, texts: 8, translated: 9 } as const
const ALIGNMENT = { int16: 2, int32: 4, text: 1, bytes: 1, texts: 1, translated: 1 } as const

/** Index and store, the first entry being the region that a signature covers. */
function headerOf(tags: Tags, region: number): Buffer {
  const index: Buffer[] = []
  const store: Buffer[] = []
  let at = 0
  for (const [tag, value] of [...tags].toSorted(([a], [b]) => a - b)) {
    const gap = (ALIGNMENT[value.type] - (at % ALIGNMENT[value.type])) % ALIGNMENT[value.type]
    store.push(Buffer.alloc(gap))
    at += gap
    index.push(indexEntry([tag, TYPES[value.type], at, value.values.length]))
    const bytes = bytesOf(value)
    store.push(bytes)
    at += bytes.length
  }
  const count = index.length + 1
  store.push(indexEntry([region, TYPES.bytes, -16 * count, 16]))
  const head = Buffer.alloc(16)
  head.writeUInt32BE(0x8e_ad_e8_01, 0)
  head.writeUInt32BE(count, 8)
  head.writeUInt32BE(at + 16, 12)
  return Buffer.concat([head, indexEntry([region, TYPES.bytes, at, 16]), ...index, ...store])
}

function indexEntry(fields: readonly number[]): Buffer {
  const entry = Buffer.alloc(16)
  for (const [place, field] of fields.entries()) entry.writeInt32BE(field, 4 * place)
  return entry
}

function bytesOf(value: Value): Buffer {
  if (value.type === 'bytes') return value.values
  if (value.type !== 'int16' && value.type !== 'int32')
    return Buffer.from(value.values.map((one) => `${one}\0`).join(''))
  const width = value.type === 'int16' ? 2 : 4
  const bytes = Buffer.alloc(width * value.values.length)
  for (const [place, one] of value.values.entries()) bytes.writeIntBE(one, width * place, width)
  return bytes
}
