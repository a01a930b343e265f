import type { Completable } from './offers.ts'

/** Commands that need no server and are described where the program begins. */
export const LOCAL_COMMANDS: readonly Completable[] = [
  { path: 'agent', summary: 'Run an agent: a server, a node, or both.' },
  { path: 'completion', summary: 'Print what makes a shell complete.' },
  { path: 'config validate', summary: 'Say whether configuration files are right.' },
  { path: 'dev-cluster', summary: 'Run several servers on this machine, to try things out.' },
  { path: 'operator migrate-storage', summary: 'Move all state to PostgreSQL, or back.' },
  { path: 'operator snapshot restore', summary: 'Bring a snapshot into an empty storage.' },
  { path: 'operator storage check', summary: 'Verify the storage of a stopped server.' },
  { path: 'operator storage salvage', summary: 'Save what is readable of a damaged storage.' },
  { path: 'policy test', summary: 'Run the tests of policies.' },
  { path: 'policy check', summary: 'Say whether policies can be evaluated.' },
  { path: 'policy eval', summary: 'Ask policies about a document.' },
  { path: 'policy fmt', summary: 'Write policies in the one form.' },
  { path: 'version', summary: 'Say which version this is.' },
]
