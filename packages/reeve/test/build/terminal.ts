import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { atEnd } from './at-end.ts'
import { until } from './until.ts'

/** On a machine that is busy with other tests. */
const WITHIN_MS = 180_000

/** Why there are no terminals here; false when there are. */
export const noTerminal =
  spawnSync('script', ['--version']).status === 0 ? false : 'script(1) is not installed'

/** A program in a terminal of its own, and a person in front of it. */
export interface TerminalBench {
  /** All that was written on the screen so far. */
  screen(): string
  type(text: string): void
  /** Waits until the screen has shown it. */
  shows(text: string | RegExp): Promise<void>
  /** Gives the window another size. */
  resize(rows: number, columns: number): void
  /** Whether the terminal edits lines, as it does when no program has changed it. */
  isCooked(): boolean
  /** The exit code of the command. */
  readonly ended: Promise<number>
}

interface TerminalWish {
  readonly rows: number
  readonly columns: number
  readonly directory: string
  readonly environment: Readonly<Record<string, string>>
}

/** Runs a command line of the shell in a terminal. */
export async function aTerminal(
  t: TestContext,
  command: string,
  { rows, columns, directory, environment }: TerminalWish,
): Promise<TerminalBench> {
  // The shell stays: the terminal is there until everything is looked at.
  const inside = `stty rows ${rows} cols ${columns}; echo "pts=$(tty)"; read -r _; ${command}; echo "code=$?"; read -r _`
  const child = spawn('script', ['-qfc', inside, '/dev/null'], {
    cwd: directory,
    env: { ...environment, SHELL: '/bin/sh', TERM: 'xterm' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let screen = ''
  child.stdout.on('data', (chunk: Buffer) => (screen += chunk.toString('utf8')))
  const found = async (pattern: RegExp): Promise<string> =>
    await until(`${pattern} on the screen`, () => pattern.exec(screen)?.[1], WITHIN_MS)
  const gone = once(child, 'exit')
  atEnd(t, async () => {
    child.kill('SIGKILL')
    await gone
  })
  const device = await found(/pts=(\S+)\r\n/)
  const stty = (...args: readonly string[]) => spawnSync('stty', ['-F', device, ...args]).stdout
  child.stdin.write('\n')
  return {
    screen: () => screen,
    type: (text) => void child.stdin.write(text),
    async shows(text) {
      const isThere = (): boolean =>
        typeof text === 'string' ? screen.includes(text) : text.test(screen)
      await until(`${String(text)} on the screen`, () => isThere() || undefined, WITHIN_MS).catch(
        (thrown: unknown) => {
          throw new Error(`${String(thrown)}: ${JSON.stringify(screen)}`)
        },
      )
    },
    resize: (height, width) => void stty('rows', String(height), 'cols', String(width)),
    isCooked: () => / icanon/.test(stty('-a').toString()),
    ended: found(/code=(\d+)\r\n/).then(Number),
  }
}
