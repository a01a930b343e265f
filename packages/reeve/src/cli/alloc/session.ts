import { ExecError, type ExecSession } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import type { CliHost } from '../host.ts'
import { copyBytes } from './copy.ts'
import { EscapeReader } from './escape.ts'

const ESCAPE_DEFAULT = '~'

/** Opens a session; `tty` gives what runs in it a terminal. */
type OpenSession = (tty: boolean) => Promise<ExecSession>

/** Joins this terminal, or these pipes, with what runs in a task; its exit code becomes ours. */
export async function runSession(invocation: Invocation, open: OpenSession): Promise<number> {
  const { host, signal } = invocation
  const wish = wishOf(invocation)
  try {
    const session = await open(wish.isTerminal)
    if (wish.isTerminal) session.resize(sizeOf(host))
    return await attend(invocation, session, wish)
  } catch (thrown) {
    if (thrown instanceof ExecError && !signal.aborted) throw refusalOf(thrown)
    throw thrown
  }
}

interface SessionWish {
  readonly isTerminal: boolean
  /** Whether what comes in is sent on. */
  readonly hasInput: boolean
  readonly escape: string | undefined
}

/** Without flags it is what a person at a terminal, or a pipe, would expect. */
function wishOf({ flags, host }: Invocation): SessionWish {
  const isTyped = host.input.isTTY === true
  const isAsked = flags.has('tty')
  const hasInput = !flags.isOff('stdin')
  if (isAsked && hasInput && !isTyped) {
    throw new UsageError(
      '--tty needs a terminal, and standard input is none. Leave out -t to pipe.',
    )
  }
  const isByDefault = hasInput && isTyped && host.isTerminal && !flags.has('interactive')
  return { isTerminal: isAsked || isByDefault, hasInput, escape: escapeOf(flags.text('escape')) }
}

function escapeOf(text: string = ESCAPE_DEFAULT): string | undefined {
  if (text === 'none') return undefined
  if (/^[!-~]$/.test(text)) return text
  throw new UsageError(`--escape is one character or "none", not "${text}".`)
}

function sizeOf(host: CliHost): { readonly height: number; readonly width: number } {
  return { height: host.rows(), width: host.columns() }
}

async function attend(
  { host }: Invocation,
  session: ExecSession,
  wish: SessionWish,
): Promise<number> {
  const input = wish.hasInput ? host.input : undefined
  const isRaw = wish.isTerminal && input?.isTTY === true
  const stopResizing = wish.isTerminal
    ? host.onResize(() => session.resize(sizeOf(host)))
    : () => undefined
  const restore = isRaw ? host.rawTerminal?.() : undefined
  try {
    const typing = sendInput(host, session, wish)
    const outputs = Promise.all([
      copyBytes(session.stdout, (bytes) => host.outBytes(bytes)),
      copyBytes(session.stderr, (bytes) => host.errBytes(bytes)),
    ])
    await Promise.race([Promise.all([outputs, session.exit]), failureOf(typing)])
    return await session.exit
  } finally {
    restore?.()
    session.close()
    stopResizing()
    // Whoever waits for more input would keep the process alive.
    input?.destroy?.()
  }
}

/** Never resolves: only a failure of the input ends a session, its end does not. */
async function failureOf(typing: Promise<void>): Promise<never> {
  await typing
  return await new Promise<never>(() => undefined)
}

async function sendInput(host: CliHost, session: ExecSession, wish: SessionWish): Promise<void> {
  if (wish.hasInput) {
    const reader = new EscapeReader(wish.isTerminal ? wish.escape : undefined)
    for await (const chunk of host.input) {
      const { send, isLeaving } = reader.read(Buffer.from(chunk))
      await sent(session.stdin.write(send))
      if (isLeaving) throw new CommandFailure('Left the session.', { code: EXIT_CODES.interrupted })
    }
  }
  await sent(session.stdin.close())
}

/** A command that no longer reads is no failure: it ends soon, or goes on without input. */
async function sent(writing: Promise<void>): Promise<void> {
  await writing.catch((thrown: unknown) => {
    if (!(thrown instanceof ExecError)) throw thrown
  })
}

/** The connection ended without a word (RFC 6455 §7.1.5). */
const LOST = 1006

/** The reason of the close is the refusal. */
export function refusalOf({ code, reason, message }: ExecError): CommandFailure {
  if (code === LOST)
    return new CommandFailure('The connection was lost before the command ended.', {
      code: EXIT_CODES.unreachable,
      hint: 'Try again. What it ran may have ended with it, or go on: look before doing it twice.',
    })
  const what = reason === '' ? message : reason
  const isDenied = /permission denied|token/i.test(what)
  const hint = isDenied ? RIGHTS : what.endsWith('is not running') ? NOT_RUNNING : undefined
  return new CommandFailure(what, {
    code: isDenied ? EXIT_CODES.denied : EXIT_CODES.failed,
    ...(hint === undefined ? {} : { hint }),
  })
}

const RIGHTS = 'It needs namespace:alloc-exec, and namespace:alloc-node-exec for raw_exec tasks.'
const NOT_RUNNING = '"reeve alloc status ALLOC" shows the state of its tasks.'
