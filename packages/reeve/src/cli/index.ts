export { CommandLine, type CommandFlags, type TextOutput } from './command-line.ts'
export { COMMANDS } from './commands.ts'
export { CommandError, EXIT_CODES } from './errors.ts'
export { handleOutputError, processHost, type CliHost } from './host.ts'
export {
  addConnectionFlags,
  expandRunShorthand,
  registerCommands,
  restoreOnline,
} from './registry.ts'
export { formatGlobalFlags } from './global-flags.ts'
export { findPlugin, runPlugin } from './plugin.ts'
export { deleteDevToken, saveDevToken } from './settings/login-file.ts'
export { loadSnapshotReader } from './snapshot/snapshot-reader.ts'
