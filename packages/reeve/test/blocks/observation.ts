import type { BlockWorld } from './world.ts'

/** A job file whose effect is seen on a real task. */
export interface Observation {
  readonly name: string
  /** Arguments of the schema, as `block.argument`; each is set in `job`. */
  readonly observes: readonly string[]
  readonly job: (world: Pick<BlockWorld, 'address' | 'secureAddress'>) => string
  readonly check: (world: BlockWorld, jobId: string) => Promise<void>
}

/** Several names in one text, as they are easier to read. */
export const words = (...lines: readonly string[]): readonly string[] =>
  lines.flatMap((line) => line.split(' '))

/** A command of a shell as the driver is told it. */
export const shell = (script: string): string =>
  `config {\n command = "/bin/sh"\n args = ["-c", ${JSON.stringify(script)}]\n }`
