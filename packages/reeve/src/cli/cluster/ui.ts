import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { platform } from 'node:os'
import { ApiError, isLoopback } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../errors.ts'

/** `ui`: prints the address of the web UI, with a sign-in link if there is a token. */
export async function runUi(invocation: CommandContext): Promise<number> {
  const { flags, output, settings } = invocation
  const signIn = flags.isNegated('sign-in') ? undefined : await createSignIn(invocation)
  const url = `${settings.address.replace(/\/+$/, '')}/ui/${signIn?.path ?? ''}`
  output.print({ URL: url, SignsIn: signIn !== undefined }, () => url)
  if (signIn !== undefined) output.printNotice(signIn.note)
  if (flags.has('open')) await openInBrowser(invocation, url)
  return EXIT_CODES.ok
}

interface SignIn {
  /** Below `/ui/`. */
  readonly path: string
  readonly note: string
}

/** Creates a sign-in link; undefined without a token. */
async function createSignIn({ client, settings }: CommandContext): Promise<SignIn | undefined> {
  const { address, token } = settings
  if (token === undefined) return undefined
  try {
    const { data } = await client.v1.createOneTimeToken()
    const secret = encodeURIComponent(data.OneTimeToken.OneTimeSecretID)
    return { path: `sign-in?ott=${secret}`, note: 'It signs in once, within a few minutes.' }
  } catch (thrown) {
    if (!(thrown instanceof ApiError && thrown.code === 'acl-disabled')) throw thrown
    // Without ACLs only the governance pages need a token. URL fragments are not sent to servers.
    if (!isLoopback(new URL(address).hostname)) return undefined
    const path = `sign-in#token=${encodeURIComponent(token)}`
    return { path, note: 'It holds the token of this command line: keep it to yourself.' }
  }
}

const BROWSER_COMMANDS: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Opens a browser. Errors are only a notice, because the address is printed. */
async function openInBrowser({ output }: CommandContext, url: string): Promise<void> {
  const [program = '', ...args] = BROWSER_COMMANDS[platform()] ?? ['xdg-open']
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true })
  try {
    await once(child, 'spawn')
    child.unref()
  } catch {
    output.printNotice(`No browser could be started with "${program}": open the address yourself.`)
  }
}
