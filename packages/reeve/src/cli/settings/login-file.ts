import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Environment } from '../host.ts'

/** The saved login: the default address, and tokens by address. */
export interface SavedLogin {
  readonly address: string
  readonly tokens: Readonly<Record<string, string>>
}

export function loginFilePath(environment: Environment): string {
  return join(configDirectory(environment), 'login.json')
}

/** The configuration directory of the user. */
function configDirectory(environment: Environment): string {
  const base = environment['XDG_CONFIG_HOME'] || join(environment['HOME'] || homedir(), '.config')
  return join(base, 'reeve')
}

/** Reads the login file; undefined if it is missing or invalid. */
export async function readLogin(environment: Environment): Promise<SavedLogin | undefined> {
  const text = await readFile(loginFilePath(environment), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : parseLogin(text)
}

/** Replaces the login file atomically; only its owner may read it. */
export async function writeLogin(environment: Environment, login: SavedLogin): Promise<string> {
  const file = loginFilePath(environment)
  await writePrivateFile(file, `${JSON.stringify(login, null, 2)}\n`)
  return file
}

async function writePrivateFile(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const temporaryFile = `${file}.${process.pid}.new`
  await writeFile(temporaryFile, text, { mode: 0o600 })
  // An existing temporary file would keep its mode.
  await chmod(temporaryFile, 0o600)
  await rename(temporaryFile, file)
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

/**
 * Saves the token of a dev agent where the CLI of the same user finds it, so that the governance
 * API works without a login. One file per address, readable by its owner only.
 */
export async function saveDevToken(
  environment: Environment,
  agent: { readonly address: string; readonly token: string },
): Promise<void> {
  await writePrivateFile(
    tokenFile(environment, agent.address),
    `${agent.address}\n${agent.token}\n`,
  )
}

/** Deletes the token of a stopped agent, unless another agent has replaced it. */
export async function deleteDevToken(
  environment: Environment,
  agent: { readonly address: string; readonly token: string },
): Promise<void> {
  const file = tokenFile(environment, agent.address)
  const text = await readFile(file, 'utf8').catch(() => '')
  if (text.split('\n')[1] === agent.token) await rm(file, { force: true })
}

/** Tokens by address. */
export async function readDevTokens(
  environment: Environment,
): Promise<Readonly<Record<string, string>>> {
  const folder = tokenDirectory(environment)
  const names = await readdir(folder).catch(() => [])
  const texts = names.map((name) => readFile(join(folder, name), 'utf8').catch(() => ''))
  const entries = (await Promise.all(texts)).map((text) => text.split('\n'))
  return Object.fromEntries(entries.map(([address = '', token = '']) => [address, token]))
}

function tokenDirectory(environment: Environment): string {
  return join(configDirectory(environment), 'dev-tokens')
}

function tokenFile(environment: Environment, address: string): string {
  return join(tokenDirectory(environment), address.replaceAll(/[^\w.-]+/g, '_'))
}
