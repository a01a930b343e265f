import type { CompletableCommand } from './offers.ts'

/** Commands that run without a server. Their specifications are in `main/commands.ts`. */
export const LOCAL_COMMANDS: readonly CompletableCommand[] = [
  { path: 'agent', summary: 'Run an agent: a server, a node, or both.' },
  { path: 'completion', summary: 'Print a completion script for a shell.' },
  { path: 'config validate', summary: 'Validate configuration files.' },
  { path: 'dev-cluster', summary: 'Run several servers on this machine, for development.' },
  { path: 'operator migrate-storage', summary: 'Move all state to PostgreSQL, or back.' },
  { path: 'operator snapshot restore', summary: 'Restore a snapshot.' },
  { path: 'operator storage check', summary: 'Verify the storage of a stopped server.' },
  { path: 'operator storage salvage', summary: 'Salvage a damaged storage.' },
  { path: 'policy test', summary: 'Run the tests of policies.' },
  { path: 'policy check', summary: 'Check policies for errors.' },
  { path: 'policy eval', summary: 'Evaluate policies against a document.' },
  { path: 'policy fmt', summary: 'Format policies.' },
  { path: 'version', summary: 'Print the version.' },
]
