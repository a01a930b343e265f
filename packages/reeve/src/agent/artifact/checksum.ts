import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { Fault } from '@reeve/kit/fault.ts'

export interface Checksum {
  readonly algorithm: 'md5' | 'sha1' | 'sha256' | 'sha512'
  /** Lower case. */
  readonly hex: string
}

const DIGITS = { md5: 32, sha1: 40, sha256: 64, sha512: 128 } as const

/** `sha256:<hex>`, or the digits alone, whose number tells the algorithm. */
export function parseChecksum(text: string): Checksum {
  const match = /^(?:(md5|sha1|sha256|sha512):)?([0-9a-f]+)$/i.exec(text.trim())
  const hex = match?.[2]?.toLowerCase() ?? ''
  const named = match?.[1]?.toLowerCase()
  const algorithm = ALGORITHMS.find((name) => DIGITS[name] === hex.length)
  if (algorithm === undefined || (named !== undefined && named !== algorithm)) {
    throw new Fault('task-artifact', `${JSON.stringify(text.slice(0, 160))} is no checksum`)
  }
  return { algorithm, hex }
}

const ALGORITHMS = ['md5', 'sha1', 'sha256', 'sha512'] as const

/**
 * The checksum of one file out of a list: lines of `<hex>  <name>` (or `<hex> *<name>`), of `ALG
 * (<name>) = <hex>`, or one checksum alone.
 */
export function findChecksum(list: string, name: string): Checksum {
  const lines = list.split('\n').map((line) => line.trim())
  const given = lines.filter((line) => line !== '' && !line.startsWith('#'))
  for (const line of given) {
    const plain = /^([0-9a-f]+)\s+\*?(\S.*)$/i.exec(line)
    if (plain !== null && isNamed(plain[2] ?? '', name)) return parseChecksum(plain[1] ?? '')
    const tagged = /^\w+ ?\((.+)\)\s*=\s*([0-9a-f]+)$/i.exec(line)
    if (tagged !== null && isNamed(tagged[1] ?? '', name)) return parseChecksum(tagged[2] ?? '')
  }
  const [only, ...others] = given
  if (only !== undefined && others.length === 0 && !/\s/.test(only)) return parseChecksum(only)
  throw new Fault('task-artifact', `the list of checksums has none for ${JSON.stringify(name)}`)
}

function isNamed(path: string, name: string): boolean {
  return path === name || path.replace(/^.*\//, '') === name
}

export async function checkFile(path: string, { algorithm, hex }: Checksum): Promise<void> {
  const hash = createHash(algorithm)
  for await (const piece of createReadStream(path)) hash.update(piece)
  const found = hash.digest('hex')
  if (found === hex) return
  throw new Fault('task-artifact', `the checksum is ${algorithm}:${found}, not ${hex}`)
}
