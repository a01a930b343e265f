import { ExecError, type ExecSession } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import type { CliHost } from '../host.ts'
import { allocationRequest, resolveAllocation, resolveTask } from './find-allocation.ts'
import { copyBytes } from './streams.ts'

const DEFAULT_ESCAPE = '~'

/** Opens an exec session, with a terminal if `tty` is set. */
type OpenSession = (tty: boolean) => Promise<ExecSession>

/** Connects this terminal or these pipes to a session in a task and returns its exit code. */
export async function attachSession(
  invocation: CommandContext,
  open: OpenSession,
): Promise<number> {
  const { host, signal } = invocation
  const wish = sessionOptions(invocation)
  try {
    const session = await open(wish.isTerminal)
    if (wish.isTerminal) session.resize(terminalSize(host))
    return await pumpStreams(invocation, session, wish)
  } catch (thrown) {
    if (thrown instanceof ExecError && !signal.aborted) throw describeExecError(thrown)
    throw thrown
  }
}

interface SessionOptions {
  readonly isTerminal: boolean
  /** Standard input is forwarded to the task. */
  readonly forwardsInput: boolean
  readonly escape: string | undefined
}

/**
 * Reads the session flags. By default a terminal is allocated if standard input and output are one.
 */
function sessionOptions({ flags, host }: CommandContext): SessionOptions {
  const isInputTerminal = host.input.isTTY === true
  const isRequested = flags.has('tty')
  const hasInput = !flags.isNegated('stdin')
  if (isRequested && hasInput && !isInputTerminal) {
    throw new UsageError(
      '--tty needs a terminal, and standard input is none. Leave out -t to pipe.',
    )
  }
  const isByDefault = hasInput && isInputTerminal && host.isTerminal && !flags.has('interactive')
  return {
    isTerminal: isRequested || isByDefault,
    forwardsInput: hasInput,
    escape: parseEscape(flags.string('escape')),
  }
}

function parseEscape(text: string = DEFAULT_ESCAPE): string | undefined {
  if (text === 'none') return undefined
  if (/^[!-~]$/.test(text)) return text
  throw new UsageError(`--escape is one character or "none", not "${text}".`)
}

function terminalSize(host: CliHost): { readonly height: number; readonly width: number } {
  return { height: host.rows(), width: host.columns() }
}

async function pumpStreams(
  { host }: CommandContext,
  session: ExecSession,
  wish: SessionOptions,
): Promise<number> {
  const input = wish.forwardsInput ? host.input : undefined
  const isRaw = wish.isTerminal && input?.isTTY === true
  const stopResizing = wish.isTerminal
    ? host.onResize(() => session.resize(terminalSize(host)))
    : () => undefined
  const restore = isRaw ? host.enterRawMode?.() : undefined
  try {
    const inputTask = sendInput(host, session, wish)
    const outputs = Promise.all([
      copyBytes(session.stdout, (bytes) => host.outBytes(bytes)),
      copyBytes(session.stderr, (bytes) => host.errBytes(bytes)),
    ])
    await Promise.race([Promise.all([outputs, session.exit]), rejectionOf(inputTask)])
    return await session.exit
  } finally {
    restore?.()
    session.close()
    stopResizing()
    // A pending read of standard input would keep the process alive.
    input?.destroy?.()
  }
}

/**
 * Rejects if reading the input fails; never resolves, because the end of the input does not end the
 * session.
 */
async function rejectionOf(typing: Promise<void>): Promise<never> {
  await typing
  return await new Promise<never>(() => undefined)
}

async function sendInput(host: CliHost, session: ExecSession, wish: SessionOptions): Promise<void> {
  if (wish.forwardsInput) {
    const reader = new EscapeDetector(wish.isTerminal ? wish.escape : undefined)
    for await (const chunk of host.input) {
      const { send, isLeaving } = reader.read(Buffer.from(chunk))
      await ignoreClosedInput(session.stdin.write(send))
      if (isLeaving) throw new CommandError('Left the session.', { code: EXIT_CODES.interrupted })
    }
  }
  await ignoreClosedInput(session.stdin.close())
}

/** Ignores write errors: a command may close its input and continue. */
async function ignoreClosedInput(writing: Promise<void>): Promise<void> {
  await writing.catch((thrown: unknown) => {
    if (!(thrown instanceof ExecError)) throw thrown
  })
}

/** Close code of a connection that was lost (RFC 6455, section 7.1.5). */
const ABNORMAL_CLOSURE = 1006

/** Converts a closed session to an error. Servers send the cause as close reason. */
export function describeExecError({ code, reason, message }: ExecError): CommandError {
  if (code === ABNORMAL_CLOSURE)
    return new CommandError('The connection was lost before the command ended.', {
      code: EXIT_CODES.unreachable,
      hint: 'Try again. What it ran may have ended with it, or go on: look before doing it twice.',
    })
  const what = reason === '' ? message : reason
  const isDenied = /permission denied|token/i.test(what)
  const hint = isDenied
    ? EXEC_CAPABILITIES_HINT
    : what.endsWith('is not running')
      ? NOT_RUNNING_HINT
      : undefined
  return new CommandError(what, {
    code: isDenied ? EXIT_CODES.denied : EXIT_CODES.failed,
    ...(hint === undefined ? {} : { hint }),
  })
}

const EXEC_CAPABILITIES_HINT =
  'It needs namespace:alloc-exec, and namespace:alloc-node-exec for raw_exec tasks.'
const NOT_RUNNING_HINT = '"reeve alloc status ALLOC" shows the state of its tasks.'

const LINE_ENDS = new Set([0x0a, 0x0d])
const DOT = 0x2e

/**
 * Detects the escape sequence of a terminal session: at the start of a line the escape character
 * and a dot, as in `ssh`. In raw mode all keys, including Ctrl-C, are sent to the command, so a
 * session that hangs could not be ended otherwise.
 */
export class EscapeDetector {
  readonly #escape: number | undefined
  #isLineStart = true
  #isEscaped = false

  /** Without an escape character, nothing is detected. */
  constructor(escape: string | undefined) {
    this.#escape = escape?.charCodeAt(0)
  }

  /** Returns the bytes to send to the task and whether the user typed the escape sequence. */
  read(typed: Uint8Array): { readonly send: Uint8Array; readonly isLeaving: boolean } {
    if (this.#escape === undefined) return { send: typed, isLeaving: false }
    const send: number[] = []
    for (const byte of typed) {
      if (this.#isEscaped && byte === DOT) return { send: Uint8Array.from(send), isLeaving: true }
      send.push(...this.#next(byte, this.#escape))
    }
    return { send: Uint8Array.from(send), isLeaving: false }
  }

  #next(byte: number, escape: number): readonly number[] {
    const wasEscaped = this.#isEscaped
    this.#isEscaped = !wasEscaped && this.#isLineStart && byte === escape
    if (this.#isEscaped) return []
    this.#isLineStart = LINE_ENDS.has(byte)
    // Typing the escape character twice sends it once.
    return wasEscaped && byte !== escape ? [escape, byte] : [byte]
  }
}

/** `alloc exec`: runs a command in a task and exits with its exit code. */
export async function runAllocExec(invocation: CommandContext): Promise<number> {
  const { args, client, flags, signal } = invocation
  const command = flags.string('job') === undefined ? args.slice(1) : args
  const allocation = await resolveAllocation(invocation, args[0])
  const task = resolveTask(allocation, flags.string('task'))
  if (command.length === 0) {
    throw new UsageError('say which command to run, as in "reeve alloc exec <ALLOC> /bin/sh".')
  }
  const { params, query } = allocationRequest(allocation)
  const request = { allocId: params.alloc_id, namespace: query.namespace, task, command, signal }
  return await attachSession(invocation, (tty) => client.exec({ ...request, tty }))
}
