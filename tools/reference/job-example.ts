import type { BlockExample } from '../../packages/reeve/src/jobspec/documentation/block.ts'
import { PLAIN_TASK } from '../../packages/reeve/src/jobspec/documentation/task-blocks.ts'

/** A whole job file around the parts of an example. */
export function jobFileOf({ file, job, group, task = PLAIN_TASK }: BlockExample): string {
  const parts = [
    ...(file === undefined ? [] : [`${file}\n`]),
    'job "example" {',
    ...(job === undefined ? [] : [`${indent(job, 1)}\n`]),
    '  group "web" {',
    ...(group === undefined ? [] : [`${indent(group, 2)}\n`]),
    '    task "server" {',
    indent(task, 3),
    '    }',
    '  }',
    '}',
  ]
  return `${parts.join('\n')}\n`
}

function indent(text: string, depth: number): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? '' : '  '.repeat(depth) + line))
    .join('\n')
}
