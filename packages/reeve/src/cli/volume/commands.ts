import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'

const VOLUME: ArgumentSpec = {
  usage: '<VOLUME>',
  help: 'a volume: name, ID or prefix of an ID',
  completionKind: 'volume',
}
const FILE: ArgumentSpec = {
  usage: '<FILE>',
  help: 'a volume file in HCL or JSON; "-" reads standard input',
  completionKind: 'file',
}
const DETACH: FlagSpec = {
  usage: '-d, --detach',
  help: 'do not wait until the node reports the volume',
}

export const volumeCommands: readonly CommandSpec[] = [
  {
    path: 'volume list',
    aliases: ['volume ls'],
    summary: 'List dynamic host volumes.',
    examples: [
      { line: 'reeve volume list', says: 'of the namespace' },
      { line: 'reeve volume list --node worker-1', says: 'of one node' },
    ],
    flags: [
      { usage: '--node <NODE>', help: 'only those of this node', completionKind: 'node' },
      { usage: '--node-pool <POOL>', help: 'only those of this pool', completionKind: 'node-pool' },
      { usage: '--plugin <NAME>', help: 'only those of this volume plugin' },
      { usage: '-v, --verbose', help: 'show full IDs' },
    ],
    isRead: true,
    load: async () => (await import('./volume.ts')).runVolumeList,
  },
  {
    path: 'volume show',
    aliases: ['volume status'],
    summary: 'Show a volume and the allocations that mount it.',
    examples: [
      { line: 'reeve volume show shop-data', says: 'by its name' },
      { line: "reeve volume show -t '{{ .HostPath }}' shop-data", says: 'only its directory' },
    ],
    args: [VOLUME],
    flags: [{ usage: '-v, --verbose', help: 'show full IDs' }],
    isRead: true,
    load: async () => (await import('./volume.ts')).runVolumeShow,
  },
  {
    path: 'volume init',
    summary: 'Write an example file for "volume create" or "volume register".',
    examples: [
      { line: 'reeve volume init', says: 'writes volume.hcl' },
      { line: 'reeve volume init --register -', says: 'an existing directory; prints the file' },
    ],
    args: [{ usage: '[FILE]', help: 'the file to write (default: volume.hcl); "-" prints it' }],
    flags: [
      { usage: '--register', help: 'write a file for "volume register"' },
      { usage: '--force', help: 'overwrite an existing file' },
    ],
    load: async () => (await import('./volume.ts')).runVolumeInit,
  },
  {
    path: 'volume create',
    summary: 'Create a volume on a node with a volume plugin, or update one.',
    details:
      'The servers choose the node unless the file names one. A file with the ID of an existing ' +
      'volume updates that volume.',
    examples: [
      { line: 'reeve volume create volume.hcl', says: 'waits until jobs can mount it' },
      { line: 'reeve volume create --detach volume.hcl', says: 'does not wait' },
    ],
    args: [FILE],
    flags: [DETACH],
    isRead: true,
    load: async () => (await import('./volume.ts')).runVolumeCreate,
  },
  {
    path: 'volume register',
    summary: 'Register an existing directory of a node as a volume, or update one.',
    examples: [{ line: 'reeve volume register volume.hcl', says: 'waits until jobs can mount it' }],
    args: [FILE],
    flags: [DETACH],
    isRead: true,
    load: async () => (await import('./volume.ts')).runVolumeRegister,
  },
  {
    path: 'volume delete',
    summary: 'Delete a volume that no allocation mounts.',
    details:
      'The plugin of a created volume deletes its data. The directory of a registered volume is ' +
      'kept.',
    examples: [
      { line: 'reeve volume delete shop-data', says: 'asks for confirmation' },
      {
        line: 'reeve volume delete --force --yes 8a7f',
        says: 'of a node that is gone, without a question',
      },
    ],
    args: [VOLUME],
    flags: [
      { usage: '--force', help: 'even if the node is unreachable; its data may remain there' },
      { usage: '-y, --yes', help: 'skip the confirmation' },
    ],
    load: async () => (await import('./volume.ts')).runVolumeDelete,
  },
]
