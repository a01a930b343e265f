import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Environment } from '../host.ts'
import { configDirectory, writePrivateFile } from './login-file.ts'

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
