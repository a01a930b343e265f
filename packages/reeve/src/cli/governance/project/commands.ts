import type { ArgumentSpec, CommandSpec, FlagSpec } from '../../command.ts'
import { ORGANIZATION_FLAG } from '../organization.ts'
import { TAG_FLAG } from '../tags.ts'

const PROJECT: ArgumentSpec = { usage: '<PROJECT>', help: 'the name or id of a project' }

const SETTINGS: readonly FlagSpec[] = [
  { usage: '--description <TEXT>', help: 'what it is for; "" for none' },
  {
    usage: '--auto-destroy <DURATION>',
    help: 'idle time after which workspaces are marked for destruction, such as 14d or 24h; "" for never',
  },
  TAG_FLAG,
  ORGANIZATION_FLAG,
]

export const projectCommands: readonly CommandSpec[] = [
  {
    path: 'project list',
    summary: 'List projects.',
    examples: [
      { line: 'reeve project list', says: 'all of the organization' },
      { line: 'reeve project list --search pay --json', says: 'with "pay" in their names' },
    ],
    flags: [{ usage: '--search <TEXT>', help: 'only names with this in them' }, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./project.ts')).runProjectList,
  },
  {
    path: 'project show',
    summary: 'Show a project with its tags.',
    examples: [{ line: 'reeve project show payments', says: 'by its name' }],
    args: [PROJECT],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./project.ts')).runProjectShow,
  },
  {
    path: 'project create',
    summary: 'Make a project.',
    examples: [{ line: 'reeve project create payments --tag env=prod', says: 'with a tag' }],
    args: [{ usage: '<NAME>', help: 'its name, 3 to 40 characters' }],
    flags: SETTINGS,
    isRead: true,
    load: async () => (await import('./change.ts')).runProjectCreate,
  },
  {
    path: 'project update',
    summary: 'Change a project. Tags that are given replace all it has.',
    examples: [
      { line: 'reeve project update payments --name billing', says: 'another name' },
      { line: 'reeve project update payments --auto-destroy 14d', says: 'mark idle workspaces' },
    ],
    args: [PROJECT],
    flags: [{ usage: '--name <NAME>', help: 'its new name' }, ...SETTINGS],
    isRead: true,
    load: async () => (await import('./change.ts')).runProjectUpdate,
  },
  {
    path: 'project delete',
    summary: 'Delete a project that has no workspaces and no namespaces.',
    examples: [
      { line: 'reeve project delete payments', says: 'after asking' },
      { line: 'reeve project delete payments --force', says: 'with all that is in it' },
    ],
    args: [PROJECT],
    flags: [
      { usage: '--force', help: 'delete its workspaces too, and let its namespaces go' },
      { usage: '-y, --yes', help: 'do not ask' },
      ORGANIZATION_FLAG,
    ],
    load: async () => (await import('./change.ts')).runProjectDelete,
  },
  {
    path: 'project tag',
    summary: 'Add tags to a project, or change their values.',
    examples: [{ line: 'reeve project tag payments env=prod audited', says: 'two tags' }],
    args: [PROJECT, { usage: '<TAG...>', help: 'KEY or KEY=VALUE' }],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./change.ts')).runProjectTag,
  },
  {
    path: 'project move',
    summary: 'Move workspaces into a project, all or none.',
    examples: [{ line: 'reeve project move payments api web', says: 'two workspaces' }],
    args: [PROJECT, { usage: '<WORKSPACE...>', help: 'names or ids of workspaces' }],
    flags: [ORGANIZATION_FLAG],
    load: async () => (await import('./change.ts')).runProjectMove,
  },
  {
    path: 'project namespaces',
    summary: 'Say which namespaces belong to a project: its policy sets guard their jobs.',
    examples: [
      { line: 'reeve project namespaces payments', says: 'those that do' },
      { line: 'reeve project namespaces payments --add prod', says: 'one more' },
    ],
    args: [PROJECT],
    flags: [
      {
        usage: '--add <NAMESPACE>',
        help: 'a namespace to add',
        isRepeated: true,
        completes: 'namespace',
      },
      {
        usage: '--remove <NAMESPACE>',
        help: 'a namespace to remove',
        isRepeated: true,
        completes: 'namespace',
      },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./namespaces.ts')).runProjectNamespaces,
  },
]
