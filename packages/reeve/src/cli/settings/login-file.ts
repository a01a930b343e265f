import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Environment } from '../host.ts'

/** What `login` keeps: the last address, and a token for each. */
export interface SavedLogin {
  readonly address: string
  readonly tokens: Readonly<Record<string, string>>
}

export function loginFile(environment: Environment): string {
  const base = environment['XDG_CONFIG_HOME'] || join(environment['HOME'] || homedir(), '.config')
  return join(base, 'reeve', 'login.json')
}

/** Undefined when nobody has logged in, or when the file is not ours to understand. */
export async function readLogin(environment: Environment): Promise<SavedLogin | undefined> {
  const text = await readFile(loginFile(environment), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : parseLogin(text)
}

function parseLogin(text: string): SavedLogin | undefined {
  const read = parseJson(text)
  if (typeof read !== 'object' || read === null) return undefined
  if (!('address' in read) || typeof read.address !== 'string') return undefined
  if (!('tokens' in read) || typeof read.tokens !== 'object') return undefined
  const tokens = Object.entries(read.tokens ?? {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return { address: read.address, tokens: Object.fromEntries(tokens) }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
