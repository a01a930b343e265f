import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { AgentConfig } from './config/agent-config.ts'

/**
 * Explains why the program did not start and what to do; undefined for an unknown error, which is
 * treated as a bug and logged with its stack.
 */
export function explainStartFailure(thrown: unknown, config: AgentConfig): string | undefined {
  // Checked before the causes, because a held lock may surface in any system call.
  if (thrown instanceof Fault && LOCKED_KINDS.includes(thrown.kind)) return thrown.message
  const { code, isListen, path } = findSystemError(thrown, config.bind)
  if (isListen && code !== undefined && Object.hasOwn(LISTEN_ERRORS, code))
    return LISTEN_ERRORS[code]?.(config)
  const isFull = code === 'ENOSPC' || code === 'EDQUOT'
  const full = `Free space on the disk of ${config.dataDirectory}, then start again.`
  if (thrown instanceof Fault)
    return isFull && thrown.kind === 'agent-state' ? `${thrown.message}. ${full}` : thrown.message
  if (code === undefined) return undefined
  const sentence = `Reeve could not start: ${errorMessage(thrown)}.`
  if (isFull) return `${sentence} ${full}`
  if (code === 'EROFS') return `${sentence} ${READ_ONLY}`
  const isRefused = ['EACCES', 'EPERM'].includes(code) && path !== undefined
  return isRefused
    ? `${sentence} Give the account that runs it the right to use ${path}, or choose another place.`
    : sentence
}

const READ_ONLY =
  'The file system is read-only, as after a disk error: look at the system log, repair and ' +
  'remount it.'

/** Fault kinds for a data directory, or the agent's part of it, that is used by another process. */
const LOCKED_KINDS: readonly string[] = ['agent-locked', 'storage-locked']

interface SystemError {
  readonly code: string | undefined
  readonly isListen: boolean
  readonly path: string | undefined
}

/** Maximum depth of nested causes; also protects against cycles. */
const CAUSES_MAX = 8

/** Returns the system error at the end of the chain of causes. */
function findSystemError(thrown: unknown, bind: string): SystemError {
  let error: unknown = thrown
  for (let depth = 0; depth < CAUSES_MAX && error instanceof Error; depth++) {
    const { code, syscall, path, cause }: NodeJS.ErrnoException = error
    if (typeof code === 'string' && typeof syscall === 'string') {
      // Lookups of other hosts, such as the database, also fail with this error.
      const isOwnName = syscall === 'getaddrinfo' && Reflect.get(error, 'hostname') === bind
      const isListen = ['listen', 'bind'].includes(syscall) || isOwnName
      return { code, isListen, path }
    }
    error = cause
  }
  return { code: undefined, isListen: false, path: undefined }
}

const LISTEN_ERRORS: Readonly<Record<string, (config: AgentConfig) => string>> = {
  EADDRINUSE: ({ bind, ports }) =>
    `Port ${ports.http} of ${bind} is in use, perhaps by another agent. Stop that one, or choose ` +
    'another port with --http-port.',
  EACCES: ({ ports }) =>
    `This account may not open port ${ports.http}. Choose one above 1023 with --http-port, or ` +
    'give it the right to open low ports.',
  EADDRNOTAVAIL: ({ bind }) =>
    `${bind} is not an address of this machine. Choose one that is with --bind.`,
  ENOTFOUND: ({ bind }) =>
    `The host name ${bind} leads to no address. Choose an address of this machine with --bind.`,
  EAI_AGAIN: ({ bind }) =>
    `The host name ${bind} could not be looked up. Choose an address of this machine with --bind.`,
}
