import type { ArgumentSpec, CommandSpec, FlagSpec } from '../../command.ts'
import { ORGANIZATION_FLAG } from '../organization.ts'

const SET: ArgumentSpec = { usage: '<SET>', help: 'the name or id of a policy set' }

const MEMBERS: readonly FlagSpec[] = [
  { usage: '--policy <POLICY>', help: 'a policy', isRepeated: true },
  { usage: '--project <PROJECT>', help: 'a project it guards', isRepeated: true },
  { usage: '--workspace <WORKSPACE>', help: 'a workspace it guards', isRepeated: true },
  {
    usage: '--jobs-of <NAMESPACE>',
    help: 'a namespace whose jobs it guards',
    isRepeated: true,
    completes: 'namespace',
  },
  { usage: '--except-project <PROJECT>', help: 'a project it leaves alone', isRepeated: true },
  {
    usage: '--except-workspace <WORKSPACE>',
    help: 'a workspace it leaves alone',
    isRepeated: true,
  },
  ORGANIZATION_FLAG,
]

const SETTINGS: readonly FlagSpec[] = [
  { usage: '--description <TEXT>', help: 'what it is for' },
  {
    usage: '--global',
    help: 'guard every project of the organization: its workspaces and its namespaces',
  },
  { usage: '--no-global', help: 'guard only what is named' },
  { usage: '--overridable', help: 'let overrides pass what it denies' },
  { usage: '--no-overridable', help: 'let no override pass what it denies' },
]

export const policySetCommands: readonly CommandSpec[] = [
  {
    path: 'policy-set list',
    summary: 'List policy sets.',
    examples: [{ line: 'reeve policy-set list', says: 'with what they guard' }],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./policy-set.ts')).runPolicySetList,
  },
  {
    path: 'policy-set show',
    summary: 'Show a policy set: its policies, what it guards, its parameters.',
    examples: [{ line: 'reeve policy-set show jobs', says: 'by its name' }],
    args: [SET],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./policy-set.ts')).runPolicySetShow,
  },
  {
    path: 'policy-set create',
    summary: 'Make a policy set.',
    examples: [
      { line: 'reeve policy-set create jobs --jobs-of default', says: 'guards jobs' },
      { line: 'reeve policy-set create base --kind opa --global', says: 'guards everything' },
    ],
    args: [{ usage: '<NAME>', help: 'its name' }],
    flags: [
      { usage: '--kind <KIND>', help: 'native or opa (default: native)' },
      ...SETTINGS,
      ...MEMBERS,
    ],
    isRead: true,
    load: async () => (await import('./change.ts')).runPolicySetCreate,
  },
  {
    path: 'policy-set update',
    summary: 'Change a policy set; "add" and "remove" change its members.',
    examples: [{ line: 'reeve policy-set update jobs --name job-limits', says: 'another name' }],
    args: [SET],
    flags: [{ usage: '--name <NAME>', help: 'its new name' }, ...SETTINGS, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./change.ts')).runPolicySetUpdate,
  },
  {
    path: 'policy-set delete',
    summary: 'Delete a policy set; its policies stay.',
    examples: [{ line: 'reeve policy-set delete jobs', says: 'after asking' }],
    args: [SET],
    flags: [{ usage: '-y, --yes', help: 'do not ask' }, ORGANIZATION_FLAG],
    load: async () => (await import('./change.ts')).runPolicySetDelete,
  },
  {
    path: 'policy-set add',
    summary: 'Add policies to a set, or things that it guards.',
    examples: [{ line: 'reeve policy-set add jobs --policy limits', says: 'one policy' }],
    args: [SET],
    flags: MEMBERS,
    isRead: true,
    load: async () => (await import('./members.ts')).runPolicySetAdd,
  },
  {
    path: 'policy-set remove',
    summary: 'Take policies out of a set, or things that it guards.',
    examples: [{ line: 'reeve policy-set remove jobs --policy limits', says: 'one policy' }],
    args: [SET],
    flags: MEMBERS,
    isRead: true,
    load: async () => (await import('./members.ts')).runPolicySetRemove,
  },
  {
    path: 'policy-set param',
    summary: 'List, set or remove the parameters that a set gives to its policies.',
    examples: [
      { line: 'reeve policy-set param jobs', says: 'those there are' },
      { line: 'reeve policy-set param jobs cpu_max=4000', says: 'sets one' },
      { line: 'reeve policy-set param jobs --remove cpu_max', says: 'removes one' },
    ],
    args: [SET, { usage: '[KEY=VALUE...]', help: 'parameters to set' }],
    flags: [
      { usage: '--sensitive', help: 'never show their values again' },
      { usage: '--remove <KEY>', help: 'a parameter to remove', isRepeated: true },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./parameters.ts')).runPolicySetParam,
  },
  {
    path: 'policy-set upload',
    summary: 'Replace the policies of a set by those of an archive (tar.gz).',
    examples: [{ line: 'tar cz . | reeve policy-set upload jobs -', says: 'this directory' }],
    args: [
      SET,
      { usage: '<ARCHIVE>', help: 'a tar.gz; "-" reads standard input', completes: 'file' },
    ],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./upload.ts')).runPolicySetUpload,
  },
]
