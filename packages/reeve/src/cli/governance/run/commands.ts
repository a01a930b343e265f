import type { ArgumentSpec, CommandSpec, FlagSpec } from '../../command.ts'
import { ORGANIZATION_FLAG } from '../organization.ts'

const RUN: ArgumentSpec = { usage: '<RUN>', help: 'the ID of a run' }
const WORKSPACE: ArgumentSpec = { usage: '<WORKSPACE>', help: 'the name or ID of a workspace' }
const PLAN: ArgumentSpec = {
  usage: '<PLAN>',
  help: 'a plan in JSON format; "-" reads standard input',
  completionKind: 'file',
}
const COMMENT: FlagSpec = { usage: '--comment <TEXT>', help: 'comment, stored with the run' }

export const runCommands: readonly CommandSpec[] = [
  {
    path: 'run list',
    summary: 'List the runs of a workspace, newest first.',
    examples: [{ line: 'reeve run list api', says: 'of one workspace' }],
    args: [WORKSPACE],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./run.ts')).runRunList,
  },
  {
    path: 'run show',
    summary: 'Show a run: what its plan changes, and its policy results.',
    examples: [{ line: 'reeve run show run-abc123', says: 'with the failed rules' }],
    args: [RUN],
    isRead: true,
    load: async () => (await import('./run.ts')).runRunShow,
  },
  {
    path: 'run log',
    summary: 'Print the log of the plan or the apply of a run, and follow it to its end.',
    details: 'Without --phase, the log of the apply if it has begun, otherwise that of the plan.',
    examples: [
      { line: 'reeve run log run-abc123', says: 'what happens now' },
      { line: 'reeve run log run-abc123 --phase plan', says: 'the plan, after its apply' },
    ],
    args: [RUN],
    flags: [{ usage: '--phase <PHASE>', help: 'plan or apply' }],
    isRead: true,
    load: async () => (await import('./log.ts')).runRunLog,
  },
  {
    path: 'run create',
    summary: 'Create a run from a plan and wait for its policy results.',
    details: 'Exits with 8 if a policy blocks the run.',
    examples: [
      { line: 'reeve run create api plan.json', says: 'a plan exported as JSON' },
      { line: 'reeve run create api plan.json --message "more nodes"', says: 'with a message' },
    ],
    args: [WORKSPACE, PLAN],
    flags: [
      { usage: '--message <TEXT>', help: 'description' },
      { usage: '--plan-only', help: 'the run is never applied' },
      { usage: '--auto-apply', help: 'confirm the run if all policies pass' },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./create.ts')).runRunCreate,
  },
  {
    path: 'run evaluate',
    summary: 'Evaluate the policies of a workspace against a plan without creating a run.',
    details: 'Exits with 8 if a policy would block the run.',
    examples: [{ line: 'reeve run evaluate api plan.json', says: 'before creating a run' }],
    args: [WORKSPACE, PLAN],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./evaluate.ts')).runRunEvaluate,
  },
  {
    path: 'run override',
    summary: 'Override the failed policies of a run. User and comment are recorded.',
    examples: [
      { line: 'reeve run override run-abc123 --comment "incident 7"', says: 'with a comment' },
    ],
    args: [RUN],
    flags: [COMMENT],
    isRead: true,
    load: async () => (await import('./decide.ts')).runRunOverride,
  },
  {
    path: 'run apply',
    summary: 'Confirm a run.',
    examples: [{ line: 'reeve run apply run-abc123', says: 'approve the plan' }],
    args: [RUN],
    flags: [COMMENT],
    isRead: true,
    load: async () => (await import('./decide.ts')).runRunApply,
  },
  {
    path: 'run discard',
    summary: 'Discard a run that waits for confirmation.',
    examples: [{ line: 'reeve run discard run-abc123', says: 'the run is never applied' }],
    args: [RUN],
    flags: [COMMENT],
    isRead: true,
    load: async () => (await import('./decide.ts')).runRunDiscard,
  },
  {
    path: 'run cancel',
    summary: 'Cancel a run that is still in progress.',
    details:
      'The tool finishes its current operation and stores the state. With --force, a run that was ' +
      'canceled a minute ago is killed; a killed apply leaves its workspace locked.',
    examples: [
      { line: 'reeve run cancel run-abc123', says: 'before it waits for confirmation' },
      { line: 'reeve run cancel run-abc123 --force', says: 'if it does not end by itself' },
    ],
    args: [RUN],
    flags: [{ usage: '--force', help: 'kill a run that was canceled and has not ended' }, COMMENT],
    isRead: true,
    load: async () => (await import('./decide.ts')).runRunCancel,
  },
]
