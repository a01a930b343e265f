export { CommandLine, type CommandFlags, type Terminal } from './command-line.ts'
export { EXIT_CODES } from './exit-code.ts'
export { processHost, type CliHost } from './host.ts'
export { addCommands } from './invoke.ts'
