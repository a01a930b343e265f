import type { ArgumentSpec, CommandSpec, FlagSpec } from '../../command.ts'
import { ORGANIZATION_FLAG } from '../organization.ts'
import { TAG_FLAG } from '../tags.ts'

const WORKSPACE: ArgumentSpec = { usage: '<WORKSPACE>', help: 'the name or id of a workspace' }

const SETTINGS: readonly FlagSpec[] = [
  { usage: '--description <TEXT>', help: 'what it is for' },
  { usage: '--project <PROJECT>', help: 'the project it is in' },
  { usage: '--auto-apply', help: 'confirm runs by themselves when the policies pass' },
  { usage: '--no-auto-apply', help: 'wait for somebody to confirm' },
  {
    usage: '--auto-destroy <DURATION>',
    help: 'idle time after which it is marked for destruction, such as 14d; "" for never',
  },
  { usage: '--inherit-auto-destroy', help: "take the project's idle time" },
  { usage: '--no-inherit-auto-destroy', help: 'have an idle time of its own' },
  TAG_FLAG,
  ORGANIZATION_FLAG,
]

export const workspaceCommands: readonly CommandSpec[] = [
  {
    path: 'workspace list',
    summary: 'List workspaces.',
    examples: [
      { line: 'reeve workspace list', says: 'all of the organization' },
      { line: 'reeve workspace list --project payments', says: 'of one project' },
    ],
    flags: [
      { usage: '--search <TEXT>', help: 'only names with this in them' },
      { usage: '--project <PROJECT>', help: 'only those in this project' },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./workspace.ts')).runWorkspaceList,
  },
  {
    path: 'workspace show',
    summary: 'Show a workspace with its tags, its lock and its latest run.',
    examples: [{ line: 'reeve workspace show api', says: 'by its name' }],
    args: [WORKSPACE],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./workspace.ts')).runWorkspaceShow,
  },
  {
    path: 'workspace create',
    summary: 'Make a workspace.',
    examples: [{ line: 'reeve workspace create api --project payments', says: 'in a project' }],
    args: [{ usage: '<NAME>', help: 'its name' }],
    flags: SETTINGS,
    isRead: true,
    load: async () => (await import('./change.ts')).runWorkspaceCreate,
  },
  {
    path: 'workspace update',
    summary: 'Change a workspace. Tags that are given replace all it has.',
    examples: [{ line: 'reeve workspace update api --auto-apply', says: 'confirm by itself' }],
    args: [WORKSPACE],
    flags: [{ usage: '--name <NAME>', help: 'its new name' }, ...SETTINGS],
    isRead: true,
    load: async () => (await import('./change.ts')).runWorkspaceUpdate,
  },
  {
    path: 'workspace delete',
    summary: 'Delete a workspace.',
    examples: [
      { line: 'reeve workspace delete api', says: 'after asking' },
      { line: 'reeve workspace delete api --safe', says: 'only if it manages nothing' },
    ],
    args: [WORKSPACE],
    flags: [
      { usage: '--safe', help: 'refuse while it manages resources' },
      { usage: '-y, --yes', help: 'do not ask' },
      ORGANIZATION_FLAG,
    ],
    load: async () => (await import('./change.ts')).runWorkspaceDelete,
  },
  {
    path: 'workspace lock',
    summary: 'Keep runs out of a workspace.',
    examples: [{ line: 'reeve workspace lock api --reason "freeze"', says: 'with a reason' }],
    args: [WORKSPACE],
    flags: [{ usage: '--reason <TEXT>', help: 'why' }, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./change.ts')).runWorkspaceLock,
  },
  {
    path: 'workspace unlock',
    summary: 'Let runs into a workspace again.',
    examples: [{ line: 'reeve workspace unlock api', says: 'a lock of your own' }],
    args: [WORKSPACE],
    flags: [{ usage: '--force', help: 'also a lock of somebody else' }, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./change.ts')).runWorkspaceUnlock,
  },
  {
    path: 'workspace tag',
    summary: 'Add tags to a workspace, or change their values.',
    examples: [{ line: 'reeve workspace tag api env=prod', says: 'one tag' }],
    args: [WORKSPACE, { usage: '<TAG...>', help: 'KEY or KEY=VALUE' }],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./change.ts')).runWorkspaceTag,
  },
]
