import type { BlockDocumentation } from '../../packages/reeve/src/jobspec/documentation/block.ts'
import { FILE_BLOCKS } from '../../packages/reeve/src/jobspec/documentation/file-blocks.ts'
import { GROUP_BLOCKS } from '../../packages/reeve/src/jobspec/documentation/group-blocks.ts'
import { JOB_BLOCKS } from '../../packages/reeve/src/jobspec/documentation/job-blocks.ts'
import { TASK_BLOCKS } from '../../packages/reeve/src/jobspec/documentation/task-blocks.ts'
import { JOB } from '../../packages/reeve/src/jobspec/schema/job.ts'
import type { BlockMapping, Nested } from '../../packages/reeve/src/jobspec/schema/table.ts'

/** One step on the way from the job to a block. */
interface Step {
  readonly name: string
  readonly row: Nested
}

/** A block of job files by its name: where it may stand, and its arguments. */
export interface DocumentedBlock {
  readonly name: string
  /** Undefined for blocks whose content is free. */
  readonly table: BlockMapping | undefined
  readonly placements: readonly (readonly Step[])[]
  readonly documentation: BlockDocumentation
}

const DOCUMENTATION: Readonly<Record<string, BlockDocumentation>> = {
  ...JOB_BLOCKS,
  ...GROUP_BLOCKS,
  ...TASK_BLOCKS,
}

/** Every block of a job, the job first. Throws if a block is not documented. */
export function documentedBlocks(): readonly DocumentedBlock[] {
  const found = new Map<
    string,
    { table: BlockMapping | undefined; placements: (readonly Step[])[] }
  >()
  found.set('job', { table: JOB, placements: [[]] })
  visit(JOB, [])
  const names = [...found.keys()]
  const [missing] = names.filter((name) => !Object.hasOwn(DOCUMENTATION, name))
  if (missing !== undefined)
    throw new Error(`block ${missing}: describe it in packages/reeve/src/jobspec/documentation`)
  const [stray] = Object.keys(DOCUMENTATION).filter((name) => !found.has(name))
  if (stray !== undefined) throw new Error(`block ${stray} is documented, but no job may have it`)
  return [...found].map(([name, { table, placements }]) => ({
    name,
    table,
    placements: placements.toSorted((a, b) => a.length - b.length),
    documentation: DOCUMENTATION[name] ?? { purpose: '' },
  }))

  function visit(table: BlockMapping, path: readonly Step[]): void {
    for (const [name, row] of Object.entries(table.blocks)) {
      const placement = [...path, { name, row }]
      const known = found.get(name)
      const inner = row.form === 'free' ? undefined : row.table
      if (known === undefined) found.set(name, { table: inner, placements: [placement] })
      else known.placements.push(placement)
      if (inner !== undefined) visit(inner, placement)
    }
  }
}

/** Blocks at the top level of a job file, or anywhere in a job. */
export const OTHER_BLOCKS = FILE_BLOCKS
