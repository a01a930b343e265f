/**
 * Archives with the same bytes for the same content: entries sorted by name, one time, owners by
 * number, nothing of the machine that writes them.
 */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'

export interface Entry {
  /** Without a leading slash; directories without a trailing one. */
  readonly path: string
  readonly mode: number
  readonly kind: 'file' | 'directory' | 'link'
  readonly data: Buffer
  /** Target of a link. */
  readonly target: string
  readonly uid: number
  readonly gid: number
  /** Of the owners, for packages whose users are created at installation. */
  readonly group: string
}

const OWNER = { uid: 0, gid: 0, group: 'root' }
const EMPTY = Buffer.alloc(0)

export function fileEntry(path: string, data: Buffer | string, mode = 0o644): Entry {
  return { path, mode, kind: 'file', data: Buffer.from(data), target: '', ...OWNER }
}

export function directoryEntry(path: string, mode = 0o755): Entry {
  return { path, mode, kind: 'directory', data: EMPTY, target: '', ...OWNER }
}

export function linkEntry(path: string, target: string): Entry {
  return { path, mode: 0o777, kind: 'link', data: EMPTY, target, ...OWNER }
}

/** Everything below a folder, with `prefix` before each name. */
export function readTree(folder: string, prefix = ''): Entry[] {
  const found = fs.readdirSync(folder, { withFileTypes: true })
  return found.flatMap((one) => {
    const file = join(folder, one.name)
    const path = prefix === '' ? one.name : `${prefix}/${one.name}`
    if (one.isDirectory()) return [directoryEntry(path), ...readTree(file, path)]
    if (one.isSymbolicLink()) return [linkEntry(path, fs.readlinkSync(file))]
    const isProgram = (fs.statSync(file).mode & 0o100) !== 0
    return [fileEntry(path, fs.readFileSync(file), isProgram ? 0o755 : 0o644)]
  })
}

/** Sorted, with the directories above each entry, each once. */
export function withParentDirectories(entries: readonly Entry[]): Entry[] {
  const byPath = new Map<string, Entry>()
  for (const entry of entries) {
    const parts = entry.path.split('/')
    for (let depth = 1; depth < parts.length; depth += 1) {
      const path = parts.slice(0, depth).join('/')
      if (!byPath.has(path)) byPath.set(path, directoryEntry(path))
    }
    byPath.set(entry.path, entry)
  }
  return [...byPath.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

const BLOCK = 512

/** A tar of the entries, names relative to `root` (`.` for packages of Debian). */
export function createTar(entries: readonly Entry[], epoch: number, root = ''): Buffer {
  const parts: Buffer[] = []
  for (const entry of withParentDirectories(entries)) {
    const path = `${root}${entry.path}${entry.kind === 'directory' ? '/' : ''}`
    if (Buffer.byteLength(path) > 100) parts.push(longNameEntry(path, 'L'))
    if (Buffer.byteLength(entry.target) > 100) parts.push(longNameEntry(entry.target, 'K'))
    parts.push(tarHeader(path, entry, epoch), pad(entry.data, BLOCK))
  }
  parts.push(Buffer.alloc(2 * BLOCK))
  return Buffer.concat(parts)
}

/** GNU tar's way to tell a name that has no room in the header. */
function longNameEntry(text: string, flag: string): Buffer {
  const data = Buffer.from(`${text}\0`)
  const head = fileEntry('././@LongLink', data)
  return Buffer.concat([tarHeader(head.path, head, 0, flag), pad(data, BLOCK)])
}

const FLAGS = { file: '0', link: '2', directory: '5' } as const

function tarHeader(path: string, entry: Entry, epoch: number, flag?: string): Buffer {
  const block = Buffer.alloc(BLOCK)
  const octal = (value: number, width: number): string =>
    `${value.toString(8).padStart(width - 1, '0')}\0`
  block.write(path.slice(0, 100), 0)
  block.write(octal(entry.mode, 8), 100)
  block.write(octal(entry.uid, 8), 108)
  block.write(octal(entry.gid, 8), 116)
  block.write(octal(entry.data.length, 12), 124)
  block.write(octal(epoch, 12), 136)
  block.write('        ', 148)
  block.write(flag ?? FLAGS[entry.kind], 156)
  block.write(entry.target.slice(0, 100), 157)
  block.write('ustar  \0', 257)
  // tar prefers names to numbers, and the users of an image are known inside it only.
  if (entry.uid === 0) {
    block.write('root', 265)
    block.write(entry.group, 297)
  }
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

function pad(data: Buffer, to: number): Buffer {
  const rest = data.length % to
  return rest === 0 ? data : Buffer.concat([data, Buffer.alloc(to - rest)])
}

/** The outer archive of a Debian package. */
export function createAr(members: readonly (readonly [string, Buffer])[], epoch: number): Buffer {
  const parts: Buffer[] = [Buffer.from('!<arch>\n')]
  for (const [name, data] of members) {
    const fields = [name.padEnd(16), String(epoch).padEnd(12), '0     ', '0     ', '100644  ']
    parts.push(Buffer.from(`${fields.join('')}${String(data.length).padEnd(10)}\`\n`))
    parts.push(pad(data, 2))
  }
  return Buffer.concat(parts)
}

const TYPES = { file: 0o100000, link: 0o120000, directory: 0o040000 } as const

/** The mode of a file with its type, as file systems hold it. */
export function modeWithType({ kind, mode }: Entry): number {
  return TYPES[kind] | mode
}

/** The "new ASCII" cpio archive in an RPM. */
export function createCpio(entries: readonly Entry[], epoch: number): Buffer {
  const parts: Buffer[] = []
  const all = [...withParentDirectories(entries)]
  for (const [index, entry] of all.entries())
    parts.push(...cpioEntry(`./${entry.path}`, entry, { inode: index + 1, epoch }))
  parts.push(...cpioEntry('TRAILER!!!', fileEntry('', '', 0), { inode: 0, epoch: 0 }))
  return pad(Buffer.concat(parts), BLOCK)
}

interface CpioFacts {
  readonly inode: number
  readonly epoch: number
}

function cpioEntry(path: string, entry: Entry, { inode, epoch }: CpioFacts): Buffer[] {
  const data = entry.kind === 'link' ? Buffer.from(entry.target) : entry.data
  const links = entry.kind === 'directory' ? 2 : 1
  const mode = inode === 0 ? 0 : modeWithType(entry)
  const name = Buffer.from(`${path}\0`)
  const fields = [inode, mode, 0, 0, links, epoch, data.length, 0, 0, 0, 0, name.length, 0]
  const head = `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`
  return [pad(Buffer.concat([Buffer.from(head), name]), 4), pad(data, 4)]
}

/** In blocks of a fixed size, so that the bytes do not depend on the number of cores. */
export function xz(data: Buffer): Buffer {
  return filter('xz', ['-6', '-T4', '--block-size=33554432', '--check=crc64', '-c'], data)
}

function filter(command: string, args: readonly string[], input: Buffer): Buffer {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    input,
    maxBuffer: 1 << 30,
  })
  if (error !== undefined || status !== 0)
    throw new Error(`${command} failed: ${error?.message ?? stderr.toString()}`)
  return Buffer.from(stdout)
}
