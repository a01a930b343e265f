import type { Invocation } from './command.ts'
import { CommandFailure } from './failure.ts'
import type { CliHost } from './host.ts'

interface Asking extends Pick<Invocation, 'flags' | 'signal'> {
  readonly host: Pick<CliHost, 'input' | 'isTerminal' | 'err'>
}

/**
 * Asks before something that cannot be undone, unless `--yes` was given. Where nobody can answer,
 * the command fails and says how to be sure.
 */
export async function confirm(asking: Asking, question: string): Promise<void> {
  if (asking.flags.has('yes')) return
  if (!canAsk(asking)) {
    throw new CommandFailure(`${question} Cannot ask: standard input is not a terminal.`, {
      hint: 'Use --yes to skip the confirmation.',
    })
  }
  if (!(await ask(asking, question))) throw new CommandFailure('Aborted; nothing was changed.')
}

/** Whether a person sits in front of it. */
export function canAsk({ host }: Pick<Asking, 'host'>): boolean {
  return host.input.isTTY === true && host.isTerminal
}

/** Whether that person says yes. */
export async function ask({ host, signal }: Asking, question: string): Promise<boolean> {
  host.err(`${question} [y/N] `)
  const answer = await firstLine(host.input, signal)
  return /^y(es)?$/i.test(answer.trim())
}

async function firstLine(
  input: AsyncIterable<string | Uint8Array>,
  signal: AbortSignal,
): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  const lines = input[Symbol.asyncIterator]()
  const interrupted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener(
      'abort',
      () => reject(new CommandFailure('Aborted; nothing was changed.')),
      {
        once: true,
      },
    )
  })
  while (!text.includes('\n')) {
    const { value, done } = await Promise.race([lines.next(), interrupted])
    if (done === true) break
    text += typeof value === 'string' ? value : decoder.decode(value, { stream: true })
  }
  await lines.return?.()
  return text.split('\n')[0] ?? ''
}
