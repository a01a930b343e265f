import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'

const PATH: ArgumentSpec = { usage: '<PATH>', help: 'the path of a variable, such as apps/web/db' }
const CHECK: FlagSpec = {
  usage: '--check-index <INDEX>',
  help: 'only if the variable has this modify index; 0: only if it does not exist',
}

export const varCommands: readonly CommandSpec[] = [
  {
    path: 'var list',
    summary: 'List variables, without their values.',
    examples: [
      { line: 'reeve var list', says: 'all that the token may list' },
      { line: 'reeve var list apps/web/', says: 'only paths with this prefix' },
    ],
    args: [{ usage: '[PREFIX]', help: 'a path prefix' }],
    isRead: true,
    load: async () => (await import('./var.ts')).runVarList,
  },
  {
    path: 'var get',
    summary: 'Show a variable.',
    examples: [
      { line: 'reeve var get apps/web/db', says: 'all items' },
      { line: 'reeve var get --item password apps/web/db', says: 'print one value' },
    ],
    args: [PATH],
    flags: [{ usage: '--item <KEY>', help: 'only the value of this item' }],
    isRead: true,
    load: async () => (await import('./var.ts')).runVarGet,
  },
  {
    path: 'var put',
    summary: 'Create or update a variable.',
    examples: [
      { line: 'reeve var put apps/web/db user=web password=@password.txt', says: 'all items' },
      {
        line: 'reeve var put --merge apps/web/db user=api',
        says: 'update one item, keep the others',
      },
      { line: 'reeve var put db.var.hcl', says: 'path and items from a file' },
      { line: 'reeve var put apps/web/tls key=@- < key.pem', says: 'a value from standard input' },
    ],
    args: [
      {
        ...PATH,
        usage: '<PATH|FILE>',
        help: 'the path of a variable, or a file that describes it',
      },
      { usage: '[ITEMS...]', help: 'KEY=VALUE, or KEY=@FILE for the content of a file' },
    ],
    flags: [{ usage: '--merge', help: 'keep existing items that are not given' }, CHECK],
    isRead: true,
    load: async () => (await import('./var.ts')).runVarPut,
  },
  {
    path: 'var init',
    summary: 'Write an example file for "var put".',
    examples: [{ line: 'reeve var init', says: 'writes spec.var.hcl' }],
    args: [{ usage: '[FILE]', help: 'the file to write (default: spec.var.hcl); "-" prints it' }],
    flags: [{ usage: '--force', help: 'overwrite an existing file' }],
    load: async () => (await import('./var.ts')).runVarInit,
  },
  {
    path: 'var purge',
    summary: 'Delete a variable.',
    examples: [{ line: 'reeve var purge apps/web/db', says: 'with all items' }],
    args: [PATH],
    flags: [CHECK],
    load: async () => (await import('./var.ts')).runVarPurge,
  },
]
