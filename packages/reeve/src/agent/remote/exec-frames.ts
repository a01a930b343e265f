import { ExecRequestFrame, type ExecResponseFrame } from '@reeve/contract'
import { Compile } from 'typebox/compile'
import { isBase64 } from '@reeve/kit/base64.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { TerminalSize } from '../task-session.ts'

const requestFrameChecker = Compile(ExecRequestFrame)

/** Content of a frame from the caller; all members of a heartbeat are empty. */
export interface ExecInput {
  readonly stdin: Buffer | undefined
  readonly closesStdin: boolean
  readonly size: TerminalSize | undefined
}

const TERMINAL_SIZE_MAX = 65_535

/** Parses a frame; unknown members are ignored. */
export function readExecFrame(data: Uint8Array): Result<ExecInput, string> {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(data).toString('utf8'))
  } catch (thrown) {
    return err(`a frame is no JSON: ${errorMessage(thrown)}`)
  }
  if (!requestFrameChecker.Check(value)) {
    const [firstError] = requestFrameChecker.Errors(value)
    return err(`a frame is wrong: ${firstError?.instancePath ?? ''} ${firstError?.message ?? ''}`)
  }
  const { stdin, tty_size: size } = value
  const input = stdin?.data === undefined ? undefined : readBase64(stdin.data)
  if (stdin?.data !== undefined && input === undefined)
    return err('a frame is wrong: /stdin/data is not base64')
  return ok({
    stdin: input,
    closesStdin: stdin?.close === true,
    size: size === undefined ? undefined : terminalSizeOf(size.height, size.width),
  })
}

/** Decodes base64; undefined if invalid. Line breaks are allowed, as other tools write them. */
function readBase64(data: string): Buffer | undefined {
  const compact = data.replace(/[\r\n]+/g, '')
  return isBase64(compact) ? Buffer.from(compact, 'base64') : undefined
}

/** Terminal size; undefined if it is zero or unreasonably large. */
function terminalSizeOf(rows: number, columns: number): TerminalSize | undefined {
  const isSize = (value: number): boolean => value > 0 && value <= TERMINAL_SIZE_MAX
  return isSize(rows) && isSize(columns) ? { rows, columns } : undefined
}

export const HEARTBEAT_FRAME = '{}'

export function outputFrame(stream: 'stdout' | 'stderr', bytes: Buffer): string {
  return encodeFrame({ [stream]: { data: bytes.toString('base64') } })
}

export function closeFrame(stream: 'stdout' | 'stderr'): string {
  return encodeFrame({ [stream]: { close: true } })
}

/** Exit frame; the code is always present, even if it is 0. */
export function exitFrame(exitCode: number): string {
  return encodeFrame({ exited: true, result: { exit_code: exitCode } })
}

function encodeFrame(frame: ExecResponseFrame): string {
  return JSON.stringify(frame)
}
