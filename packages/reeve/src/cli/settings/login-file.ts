import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Environment } from '../host.ts'

/** What `login` keeps: the last address, and a token for each. */
export interface SavedLogin {
  readonly address: string
  readonly tokens: Readonly<Record<string, string>>
}

export function loginFile(environment: Environment): string {
  return join(configDirectory(environment), 'login.json')
}

/** Where this program keeps what belongs to a person. */
export function configDirectory(environment: Environment): string {
  const base = environment['XDG_CONFIG_HOME'] || join(environment['HOME'] || homedir(), '.config')
  return join(base, 'reeve')
}

/** Undefined when nobody has logged in, or when the file is not ours to understand. */
export async function readLogin(environment: Environment): Promise<SavedLogin | undefined> {
  const text = await readFile(loginFile(environment), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : parseLogin(text)
}

/** Replaces what is kept, whole or not at all; only its owner may read it. */
export async function writeLogin(environment: Environment, login: SavedLogin): Promise<string> {
  const file = loginFile(environment)
  await writePrivateFile(file, `${JSON.stringify(login, null, 2)}\n`)
  return file
}

export async function writePrivateFile(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${process.pid}.new`
  await writeFile(draft, text, { mode: 0o600 })
  // A draft that was there already keeps its mode.
  await chmod(draft, 0o600)
  await rename(draft, file)
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
