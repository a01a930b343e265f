import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { platform } from 'node:os'
import { ApiError } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'

/** Where the web UI is; with a token, an address that signs in once. */
export async function runUi(invocation: Invocation): Promise<number> {
  const { flags, output, settings } = invocation
  const secret = flags.isOff('sign-in') ? undefined : await oneTimeSecret(invocation)
  const home = `${settings.address.replace(/\/+$/, '')}/ui/`
  const url = secret === undefined ? home : `${home}sign-in?ott=${encodeURIComponent(secret)}`
  output.show({ URL: url, SignsIn: secret !== undefined }, () => url)
  if (secret !== undefined) output.note('It signs in once, within a few minutes.')
  if (flags.has('open')) await openInBrowser(invocation, url)
  return EXIT_CODES.ok
}

/** Undefined where there is nothing to sign in with, or no need to. */
async function oneTimeSecret({ client, settings }: Invocation): Promise<string | undefined> {
  if (settings.token === undefined) return undefined
  try {
    const { data } = await client.v1.createOneTimeToken()
    return data.OneTimeToken.OneTimeSecretID
  } catch (thrown) {
    // ACLs are off: everyone is let in.
    if (thrown instanceof ApiError && /ACL support disabled/i.test(thrown.text)) return undefined
    throw thrown
  }
}

const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** A browser that cannot be started is no failure: the address is written above. */
async function openInBrowser({ output }: Invocation, url: string): Promise<void> {
  const [program = '', ...args] = OPENERS[platform()] ?? ['xdg-open']
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true })
  try {
    await once(child, 'spawn')
    child.unref()
  } catch {
    output.note(`No browser could be started with "${program}": open the address yourself.`)
  }
}
