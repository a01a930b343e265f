import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'
import { ORGANIZATION_FLAG } from './flags.ts'

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
    load: async () => (await import('./run.ts')).runRunLog,
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
    load: async () => (await import('./run.ts')).runRunCreate,
  },
  {
    path: 'run start',
    summary: 'Plan the current configuration of a workspace, and follow the run.',
    details:
      'The run executes on a node. The command ends when the run has ended or needs a decision. ' +
      'Exits with 8 if a policy blocks the run, and with 1 if it errored or was canceled.',
    examples: [
      { line: 'reeve run start api', says: 'the configuration that was uploaded last' },
      { line: 'reeve run start api --destroy', says: 'plan to destroy everything' },
      { line: 'reeve run start api --refresh-only --plan-only', says: 'show drift' },
    ],
    args: [WORKSPACE],
    flags: [
      { usage: '--message <TEXT>', help: 'description' },
      { usage: '--plan-only', help: 'the run is never applied' },
      { usage: '--auto-apply', help: 'confirm the run if all policies pass' },
      { usage: '--destroy', help: 'plan to destroy all resources' },
      { usage: '--refresh-only', help: 'plan only what changed outside of runs' },
      { usage: '--target <ADDRESS>', help: 'only this resource', isRepeated: true },
      { usage: '--replace <ADDRESS>', help: 'replace this resource', isRepeated: true },
      { usage: '--detach', help: 'do not wait for the run' },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./run.ts')).runRunStart,
  },
  {
    path: 'run evaluate',
    summary: 'Evaluate the policies of a workspace against a plan without creating a run.',
    details: 'Exits with 8 if a policy would block the run.',
    examples: [{ line: 'reeve run evaluate api plan.json', says: 'before creating a run' }],
    args: [WORKSPACE, PLAN],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./run.ts')).runRunEvaluate,
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
    load: async () => (await import('./run.ts')).runRunOverride,
  },
  {
    path: 'run apply',
    summary: 'Confirm a run.',
    examples: [{ line: 'reeve run apply run-abc123', says: 'approve the plan' }],
    args: [RUN],
    flags: [COMMENT],
    isRead: true,
    load: async () => (await import('./run.ts')).runRunApply,
  },
  {
    path: 'run discard',
    summary: 'Discard a run that waits for confirmation.',
    examples: [{ line: 'reeve run discard run-abc123', says: 'the run is never applied' }],
    args: [RUN],
    flags: [COMMENT],
    isRead: true,
    load: async () => (await import('./run.ts')).runRunDiscard,
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
    load: async () => (await import('./run.ts')).runRunCancel,
  },
]

const VERSION: ArgumentSpec = {
  usage: '[VERSION]',
  help: 'the ID or serial of a state version; the current one if omitted',
}

export const stateCommands: readonly CommandSpec[] = [
  {
    path: 'state list',
    summary: 'List the state versions of a workspace, newest first.',
    examples: [{ line: 'reeve state list api', says: 'of one workspace' }],
    args: [WORKSPACE],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./state.ts')).runStateList,
  },
  {
    path: 'state show',
    summary: 'Show a state version: its resources and outputs.',
    examples: [
      { line: 'reeve state show api', says: 'the current state' },
      { line: 'reeve state show api 7', says: 'the version with serial 7' },
    ],
    args: [WORKSPACE, VERSION],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./state.ts')).runStateShow,
  },
  {
    path: 'state pull',
    summary: 'Print a state as it was uploaded, with its sensitive values.',
    examples: [{ line: 'reeve state pull api > state.json', says: 'into a file' }],
    args: [WORKSPACE, VERSION],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./state.ts')).runStatePull,
  },
  {
    path: 'state diff',
    summary: 'Compare two state versions of a workspace.',
    details: 'Without versions, compares the current state with the one before it.',
    examples: [
      { line: 'reeve state diff api', says: 'what the latest write changed' },
      { line: 'reeve state diff api 5 9', says: 'by serial' },
    ],
    args: [
      WORKSPACE,
      { usage: '[FROM]', help: 'the ID or serial of the older version' },
      { usage: '[TO]', help: 'the newer version; the current one if omitted' },
    ],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./state.ts')).runStateDiff,
  },
  {
    path: 'state rollback',
    summary: 'Make an earlier state version the current one, as a new version.',
    details: 'The workspace is locked meanwhile. Infrastructure is not changed.',
    examples: [{ line: 'reeve state rollback api 7', says: 'to the version with serial 7' }],
    args: [WORKSPACE, { usage: '<VERSION>', help: 'the ID or serial of a state version' }],
    flags: [{ usage: '-y, --yes', help: 'skip the confirmation' }, ORGANIZATION_FLAG],
    load: async () => (await import('./state.ts')).runStateRollback,
  },
]
