import { allocCommands } from './alloc/commands.ts'
import type { CommandSpec } from './command.ts'
import { deploymentCommands } from './deployment/commands.ts'
import { evalCommands } from './eval/commands.ts'
import { jobCommands } from './job/commands.ts'
import { nodeCommands } from './node/commands.ts'

/** Every command that talks to a server, in the order of the help. */
export const COMMANDS: readonly CommandSpec[] = [
  ...jobCommands,
  ...allocCommands,
  ...nodeCommands,
  ...evalCommands,
  ...deploymentCommands,
]

/** What groups of commands are about, by their path. */
export const GROUPS: Readonly<Record<string, string>> = {
  job: 'Jobs: submit them, see how they do, change and stop them.',
  alloc: 'Allocations: look inside them, reach their tasks, stop them.',
  node: 'Nodes: see how they do, empty them, keep work away from them.',
  eval: 'Evaluations: what the scheduler was asked, and why something has no place.',
  deployment: 'Deployments: watch roll-outs, promote, pause or fail them.',
}
