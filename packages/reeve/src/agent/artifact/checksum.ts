import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { Fault } from '@reeve/kit/fault.ts'

export interface Checksum {
  readonly algorithm: 'md5' | 'sha1' | 'sha256' | 'sha512'
  /** Lower case. */
  readonly hex: string
}

const HEX_LENGTHS = { md5: 32, sha1: 40, sha256: 64, sha512: 128 } as const

/** Parses `sha256:<hex>`, or the digits alone, whose length implies the algorithm. */
export function parseChecksum(text: string): Checksum {
  const match = /^(?:(md5|sha1|sha256|sha512):)?([0-9a-f]+)$/i.exec(text.trim())
  const hex = match?.[2]?.toLowerCase() ?? ''
  const namedAlgorithm = match?.[1]?.toLowerCase()
  const algorithm = ALGORITHMS.find((name) => HEX_LENGTHS[name] === hex.length)
  if (algorithm === undefined || (namedAlgorithm !== undefined && namedAlgorithm !== algorithm)) {
    throw new Fault('task-artifact', `${JSON.stringify(text.slice(0, 160))} is no checksum`)
  }
  return { algorithm, hex }
}

const ALGORITHMS = ['md5', 'sha1', 'sha256', 'sha512'] as const

/**
 * Checksum of a file from a list: lines `<hex>  <name>`, `<hex> *<name>` or `ALG (<name>) = <hex>`,
 * or a single checksum.
 */
export function findChecksum(list: string, name: string): Checksum {
  const lines = list.split('\n').map((line) => line.trim())
  const entries = lines.filter((line) => line !== '' && !line.startsWith('#'))
  for (const line of entries) {
    const plainMatch = /^([0-9a-f]+)\s+\*?(\S.*)$/i.exec(line)
    if (plainMatch !== null && matchesFileName(plainMatch[2] ?? '', name))
      return parseChecksum(plainMatch[1] ?? '')
    const taggedMatch = /^\w+ ?\((.+)\)\s*=\s*([0-9a-f]+)$/i.exec(line)
    if (taggedMatch !== null && matchesFileName(taggedMatch[1] ?? '', name))
      return parseChecksum(taggedMatch[2] ?? '')
  }
  const [onlyEntry, ...others] = entries
  if (onlyEntry !== undefined && others.length === 0 && !/\s/.test(onlyEntry))
    return parseChecksum(onlyEntry)
  throw new Fault('task-artifact', `the list of checksums has none for ${JSON.stringify(name)}`)
}

function matchesFileName(path: string, name: string): boolean {
  return path === name || path.replace(/^.*\//, '') === name
}

export async function verifyFile(path: string, { algorithm, hex }: Checksum): Promise<void> {
  const hash = createHash(algorithm)
  for await (const piece of createReadStream(path)) hash.update(piece)
  const actual = hash.digest('hex')
  if (actual === hex) return
  throw new Fault('task-artifact', `the checksum is ${algorithm}:${actual}, not ${hex}`)
}
