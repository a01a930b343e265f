export {
  CommandLine,
  type Action,
  type CommandFlags,
  type CommandText,
  type Terminal,
} from './command-line.ts'
export { EXIT_CODES } from './exit-code.ts'
