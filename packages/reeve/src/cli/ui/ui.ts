import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { platform } from 'node:os'
import { ApiError, isLoopback } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'

/** Where the web UI is; with a token, an address that signs in. */
export async function runUi(invocation: Invocation): Promise<number> {
  const { flags, output, settings } = invocation
  const signIn = flags.isOff('sign-in') ? undefined : await signInOf(invocation)
  const url = `${settings.address.replace(/\/+$/, '')}/ui/${signIn?.path ?? ''}`
  output.show({ URL: url, SignsIn: signIn !== undefined }, () => url)
  if (signIn !== undefined) output.note(signIn.note)
  if (flags.has('open')) await openInBrowser(invocation, url)
  return EXIT_CODES.ok
}

interface SignIn {
  /** Below `/ui/`. */
  readonly path: string
  readonly note: string
}

/** Undefined where there is nothing to sign in with. */
async function signInOf({ client, settings }: Invocation): Promise<SignIn | undefined> {
  const { address, token } = settings
  if (token === undefined) return undefined
  try {
    const { data } = await client.v1.createOneTimeToken()
    const secret = encodeURIComponent(data.OneTimeToken.OneTimeSecretID)
    return { path: `sign-in?ott=${secret}`, note: 'It signs in once, within a few minutes.' }
  } catch (thrown) {
    if (!(thrown instanceof ApiError && thrown.code === 'acl-disabled')) throw thrown
    // Everyone is let in, except to the governance pages. No server is sent what follows a "#".
    if (!isLoopback(new URL(address).hostname)) return undefined
    const path = `sign-in#token=${encodeURIComponent(token)}`
    return { path, note: 'It holds the token of this command line: keep it to yourself.' }
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
