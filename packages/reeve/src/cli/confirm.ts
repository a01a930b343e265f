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
export async function confirm({ flags, host, signal }: Asking, question: string): Promise<void> {
  if (flags.has('yes')) return
  if (host.input.isTTY !== true || !host.isTerminal) {
    throw new CommandFailure(`${question} There is nobody to ask.`, {
      hint: 'Give --yes to go on without being asked.',
    })
  }
  host.err(`${question} [y/N] `)
  const answer = await firstLine(host.input, signal)
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailure('Nothing was done.')
}

async function firstLine(
  input: AsyncIterable<string | Uint8Array>,
  signal: AbortSignal,
): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  const lines = input[Symbol.asyncIterator]()
  const interrupted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new CommandFailure('Nothing was done.')), {
      once: true,
    })
  })
  while (!text.includes('\n')) {
    const { value, done } = await Promise.race([lines.next(), interrupted])
    if (done === true) break
    text += typeof value === 'string' ? value : decoder.decode(value, { stream: true })
  }
  await lines.return?.()
  return text.split('\n')[0] ?? ''
}
