import { ExecRequestFrame, type ExecResponseFrame } from '@reeve/contract'
import { Compile } from 'typebox/compile'
import { isBase64 } from '@reeve/kit/base64.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { TerminalSize } from '../task-session.ts'

const checker = Compile(ExecRequestFrame)

/** What a frame from the caller asks for; a heartbeat asks for nothing. */
export interface ExecInput {
  readonly stdin: Buffer | undefined
  readonly closesStdin: boolean
  readonly size: TerminalSize | undefined
}

const SIZE_MAX = 65_535

/** Members that are not known are ignored. */
export function readExecFrame(data: Uint8Array): Result<ExecInput, string> {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(data).toString('utf8'))
  } catch (thrown) {
    return err(`a frame is no JSON: ${errorMessage(thrown)}`)
  }
  if (!checker.Check(value)) {
    const [first] = checker.Errors(value)
    return err(`a frame is wrong: ${first?.instancePath ?? ''} ${first?.message ?? ''}`)
  }
  const { stdin, tty_size: size } = value
  const typed = stdin?.data === undefined ? undefined : readBase64(stdin.data)
  if (stdin?.data !== undefined && typed === undefined)
    return err('a frame is wrong: /stdin/data is not base64')
  return ok({
    stdin: typed,
    closesStdin: stdin?.close === true,
    size: size === undefined ? undefined : sizeOf(size.height, size.width),
  })
}

/** Undefined when the text is not base64. Line ends are allowed, as other tools write them. */
function readBase64(data: string): Buffer | undefined {
  const packed = data.replace(/[\r\n]+/g, '')
  return isBase64(packed) ? Buffer.from(packed, 'base64') : undefined
}

/** A terminal without rows or columns, or with millions, is none. */
function sizeOf(rows: number, columns: number): TerminalSize | undefined {
  const isSize = (value: number): boolean => value > 0 && value <= SIZE_MAX
  return isSize(rows) && isSize(columns) ? { rows, columns } : undefined
}

export const HEARTBEAT_FRAME = '{}'

export function outputFrame(stream: 'stdout' | 'stderr', bytes: Buffer): string {
  return text({ [stream]: { data: bytes.toString('base64') } })
}

export function endFrame(stream: 'stdout' | 'stderr'): string {
  return text({ [stream]: { close: true } })
}

/** The code is always there (choice 15). */
export function exitFrame(exitCode: number): string {
  return text({ exited: true, result: { exit_code: exitCode } })
}

function text(frame: ExecResponseFrame): string {
  return JSON.stringify(frame)
}
