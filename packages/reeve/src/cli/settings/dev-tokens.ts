import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Environment } from '../host.ts'
import { configDirectory, writePrivateFile } from './login-file.ts'

/**
 * A dev agent leaves its token where the command line of the same person finds it, so that the
 * governance API can be tried without signing in. One file for each address; only its owner may
 * read it.
 */
export async function keepDevToken(
  environment: Environment,
  agent: { readonly address: string; readonly token: string },
): Promise<void> {
  await writePrivateFile(fileOf(environment, agent.address), `${agent.address}\n${agent.token}\n`)
}

/** The agent has ended. What another one has left since is kept. */
export async function forgetDevToken(
  environment: Environment,
  agent: { readonly address: string; readonly token: string },
): Promise<void> {
  const file = fileOf(environment, agent.address)
  const text = await readFile(file, 'utf8').catch(() => '')
  if (text.split('\n')[1] === agent.token) await rm(file, { force: true })
}

/** Tokens by address. */
export async function readDevTokens(
  environment: Environment,
): Promise<Readonly<Record<string, string>>> {
  const folder = folderOf(environment)
  const names = await readdir(folder).catch(() => [])
  const texts = names.map((name) => readFile(join(folder, name), 'utf8').catch(() => ''))
  const entries = (await Promise.all(texts)).map((text) => text.split('\n'))
  return Object.fromEntries(entries.map(([address = '', token = '']) => [address, token]))
}

function folderOf(environment: Environment): string {
  return join(configDirectory(environment), 'dev-tokens')
}

function fileOf(environment: Environment, address: string): string {
  return join(folderOf(environment), address.replaceAll(/[^\w.-]+/g, '_'))
}
