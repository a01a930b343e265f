import { readFile } from 'node:fs/promises'
import type { v2 } from '@reeve/contract'
import type { PhaseClient } from './phase-client.ts'
import type { PhaseLog } from './phase-log.ts'
import type { Tool } from './tool.ts'

/** Settings that the job of a phase passes to its runner. */
export interface RunnerSettings {
  readonly address: string
  readonly phaseId: string
  /** Path of the planning tool. */
  readonly tool: string
  readonly authorities: string
  readonly taskDirectory: string
  readonly secretsDirectory: string
  readonly path: string
}

/** Context of both phases. */
export interface PhaseContext {
  readonly document: v2.PhaseDocument
  readonly client: PhaseClient
  readonly log: PhaseLog
  readonly tool: Tool
  readonly settings: RunnerSettings
  readonly environment: Readonly<Record<string, string>>
  /** Directory into which the configuration is unpacked. */
  readonly directory: string
}

/** Result of a phase, without its log. */
export type PhaseResult = Omit<v2.PhaseFinishRequest, 'logBytes'>

/** Reads a file that may not exist. */
export async function readFileIfExists(path: string): Promise<Buffer | undefined> {
  return await readFile(path).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined
    throw thrown
  })
}
