import type { ArgumentSpec, CommandSpec, FlagSpec } from '../../command.ts'
import { ORGANIZATION_FLAG } from '../organization.ts'

const RUN: ArgumentSpec = { usage: '<RUN>', help: 'the id of a run' }
const WORKSPACE: ArgumentSpec = { usage: '<WORKSPACE>', help: 'the name or id of a workspace' }
const PLAN: ArgumentSpec = {
  usage: '<PLAN>',
  help: 'a plan as JSON; "-" reads standard input',
  completes: 'file',
}
const COMMENT: FlagSpec = { usage: '--comment <TEXT>', help: 'why, kept with the run' }

export const runCommands: readonly CommandSpec[] = [
  {
    path: 'run list',
    summary: 'List the runs of a workspace, the newest first.',
    examples: [{ line: 'reeve run list api', says: 'of one workspace' }],
    args: [WORKSPACE],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./run.ts')).runRunList,
  },
  {
    path: 'run show',
    summary: 'Show a run and what the policies said of its plan.',
    examples: [{ line: 'reeve run show run-abc123', says: 'with the lines that failed' }],
    args: [RUN],
    isRead: true,
    load: async () => (await import('./run.ts')).runRunShow,
  },
  {
    path: 'run create',
    summary: 'Give a plan to the policies of a workspace and wait for what they say.',
    details: 'Ends with 8 when a policy stops it.',
    examples: [
      { line: 'reeve run create api plan.json', says: 'a plan that was exported as JSON' },
      { line: 'reeve run create api plan.json --message "more nodes"', says: 'with a message' },
    ],
    args: [WORKSPACE, PLAN],
    flags: [
      { usage: '--message <TEXT>', help: 'what it is for' },
      { usage: '--plan-only', help: 'it is never applied' },
      { usage: '--auto-apply', help: 'confirm it when the policies pass' },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./create.ts')).runRunCreate,
  },
  {
    path: 'run evaluate',
    summary: 'Ask the policies of a workspace about a plan, without keeping anything.',
    details: 'Ends with 8 when a policy would stop it.',
    examples: [{ line: 'reeve run evaluate api plan.json', says: 'before there is a run' }],
    args: [WORKSPACE, PLAN],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./evaluate.ts')).runRunEvaluate,
  },
  {
    path: 'run override',
    summary: 'Let a run pass policies that may be overridden. Who did it and why is kept.',
    examples: [{ line: 'reeve run override run-abc123 --comment "incident 7"', says: 'with why' }],
    args: [RUN],
    flags: [COMMENT],
    isRead: true,
    load: async () => (await import('./decide.ts')).runRunOverride,
  },
  {
    path: 'run apply',
    summary: 'Confirm a run.',
    examples: [{ line: 'reeve run apply run-abc123', says: 'its plan may be carried out' }],
    args: [RUN],
    flags: [COMMENT],
    isRead: true,
    load: async () => (await import('./decide.ts')).runRunApply,
  },
  {
    path: 'run discard',
    summary: 'Discard a run that waits for a decision.',
    examples: [{ line: 'reeve run discard run-abc123', says: 'it is never applied' }],
    args: [RUN],
    flags: [COMMENT],
    isRead: true,
    load: async () => (await import('./decide.ts')).runRunDiscard,
  },
  {
    path: 'run cancel',
    summary: 'Cancel a run that is not yet judged.',
    examples: [{ line: 'reeve run cancel run-abc123', says: 'before it waits for a decision' }],
    args: [RUN],
    flags: [COMMENT],
    isRead: true,
    load: async () => (await import('./decide.ts')).runRunCancel,
  },
]
