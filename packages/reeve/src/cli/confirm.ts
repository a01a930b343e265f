import type { CommandContext } from './command.ts'
import { CommandError } from './errors.ts'
import type { CliHost } from './host.ts'

interface ConfirmContext extends Pick<CommandContext, 'flags' | 'signal'> {
  readonly host: Pick<CliHost, 'input' | 'isTerminal' | 'err'>
}

/**
 * Asks for confirmation of a destructive operation, unless `--yes` is set. Without a terminal the
 * command fails and suggests `--yes`.
 */
export async function confirm(context: ConfirmContext, question: string): Promise<void> {
  if (context.flags.has('yes')) return
  if (!canPrompt(context)) {
    throw new CommandError(`${question} Cannot ask: standard input is not a terminal.`, {
      hint: 'Use --yes to skip the confirmation.',
    })
  }
  if (!(await prompt(context, question))) throw new CommandError('Aborted; nothing was changed.')
}

/** Whether standard input and output are a terminal. */
export function canPrompt({ host }: Pick<ConfirmContext, 'host'>): boolean {
  return host.input.isTTY === true && host.isTerminal
}

/** Prompts for yes or no. */
export async function prompt({ host, signal }: ConfirmContext, question: string): Promise<boolean> {
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
      () => reject(new CommandError('Aborted; nothing was changed.')),
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
