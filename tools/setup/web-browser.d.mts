/** What the set-up may do to the machine; a test gives one that only notes it. */
export interface BrowserMachine {
  has(programs: readonly string[]): boolean
  canInstall(): boolean
  wasTried(): boolean
  noteTried(): void
  /** What went wrong; undefined when nothing did. */
  apt(args: readonly string[], timeoutMs: number): Promise<string | undefined>
  say(sentence: string): void
}

export function setUpBrowser(root: string, machine?: BrowserMachine): Promise<void>
