import type { ArgumentSpec, CommandSpec, FlagSpec } from '../../command.ts'
import { ORGANIZATION_FLAG } from '../organization.ts'

const SET: ArgumentSpec = { usage: '<SET>', help: 'the name or id of a policy set' }

const MEMBERS: readonly FlagSpec[] = [
  { usage: '--policy <POLICY>', help: 'a policy', isRepeated: true },
  { usage: '--project <PROJECT>', help: 'apply the set to this project', isRepeated: true },
  { usage: '--workspace <WORKSPACE>', help: 'apply the set to this workspace', isRepeated: true },
  {
    usage: '--jobs-of <NAMESPACE>',
    help: 'apply the set to the jobs of this namespace',
    isRepeated: true,
    completionKind: 'namespace',
  },
  { usage: '--except-project <PROJECT>', help: 'exclude this project', isRepeated: true },
  {
    usage: '--except-workspace <WORKSPACE>',
    help: 'exclude this workspace',
    isRepeated: true,
  },
  ORGANIZATION_FLAG,
]

const SETTINGS: readonly FlagSpec[] = [
  { usage: '--description <TEXT>', help: 'description' },
  {
    usage: '--global',
    help: 'apply the set to all projects of the organization, with their workspaces and namespaces',
  },
  { usage: '--no-global', help: 'apply the set only to what is named' },
  { usage: '--overridable', help: 'allow overrides of failed policies' },
  { usage: '--no-overridable', help: 'do not allow overrides of failed policies' },
]

export const policySetCommands: readonly CommandSpec[] = [
  {
    path: 'policy-set list',
    summary: 'List policy sets.',
    examples: [{ line: 'reeve policy-set list', says: 'with their scope' }],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./policy-set.ts')).runPolicySetList,
  },
  {
    path: 'policy-set show',
    summary: 'Show a policy set: policies, scope and parameters.',
    examples: [{ line: 'reeve policy-set show jobs', says: 'by its name' }],
    args: [SET],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./policy-set.ts')).runPolicySetShow,
  },
  {
    path: 'policy-set create',
    summary: 'Create a policy set.',
    examples: [
      {
        line: 'reeve policy-set create jobs --jobs-of default',
        says: 'applies to the jobs of a namespace',
      },
      {
        line: 'reeve policy-set create base --kind opa --global',
        says: 'applies to the whole organization',
      },
    ],
    args: [{ usage: '<NAME>', help: 'name' }],
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
    summary: 'Update the settings of a policy set; "add" and "remove" change its members.',
    examples: [{ line: 'reeve policy-set update jobs --name job-limits', says: 'rename it' }],
    args: [SET],
    flags: [{ usage: '--name <NAME>', help: 'new name' }, ...SETTINGS, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./change.ts')).runPolicySetUpdate,
  },
  {
    path: 'policy-set delete',
    summary: 'Delete a policy set; its policies are kept.',
    examples: [{ line: 'reeve policy-set delete jobs', says: 'asks for confirmation' }],
    args: [SET],
    flags: [{ usage: '-y, --yes', help: 'skip the confirmation' }, ORGANIZATION_FLAG],
    load: async () => (await import('./change.ts')).runPolicySetDelete,
  },
  {
    path: 'policy-set add',
    summary: 'Add policies to a set, or extend its scope.',
    examples: [{ line: 'reeve policy-set add jobs --policy limits', says: 'one policy' }],
    args: [SET],
    flags: MEMBERS,
    isRead: true,
    load: async () => (await import('./members.ts')).runPolicySetAdd,
  },
  {
    path: 'policy-set remove',
    summary: 'Remove policies from a set, or reduce its scope.',
    examples: [{ line: 'reeve policy-set remove jobs --policy limits', says: 'one policy' }],
    args: [SET],
    flags: MEMBERS,
    isRead: true,
    load: async () => (await import('./members.ts')).runPolicySetRemove,
  },
  {
    path: 'policy-set param',
    summary: 'List, set or remove the parameters of a policy set.',
    examples: [
      { line: 'reeve policy-set param jobs', says: 'list the parameters' },
      { line: 'reeve policy-set param jobs cpu_max=4000', says: 'set a parameter' },
      { line: 'reeve policy-set param jobs --remove cpu_max', says: 'remove a parameter' },
    ],
    args: [SET, { usage: '[KEY=VALUE...]', help: 'parameters to set' }],
    flags: [
      { usage: '--sensitive', help: 'treat the values as sensitive: never show them again' },
      { usage: '--remove <KEY>', help: 'a parameter to remove', isRepeated: true },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./parameters.ts')).runPolicySetParam,
  },
  {
    path: 'policy-set upload',
    summary: 'Replace the policies of a set with those of a tar.gz archive.',
    examples: [
      {
        line: 'tar cz . | reeve policy-set upload jobs -',
        says: 'upload the policies of this directory',
      },
    ],
    args: [
      SET,
      { usage: '<ARCHIVE>', help: 'a tar.gz; "-" reads standard input', completionKind: 'file' },
    ],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./upload.ts')).runPolicySetUpload,
  },
]
