/** What the set-up may do to the machine; a test gives one that only notes it. */
export interface Machine {
  has(): boolean
  canInstall(): boolean
  wasTried(): boolean
  noteTried(): void
  /** What went wrong; undefined when nothing did. */
  apt(args: readonly string[], timeoutMs: number): Promise<string | undefined>
  /** Keeps the package from making a cluster; gives what takes that back. */
  makeNoCluster(): () => void
  say(sentence: string): void
}

export function setUpPostgres(root: string, machine?: Machine): Promise<void>
