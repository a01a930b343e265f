import { err, ok } from '@reeve/kit/result.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import { fails, testCalls } from '../../../test/build/function-cases.ts'
import type { FileFunctions } from './define.ts'

const contents: ReadonlyMap<string, Uint8Array> = new Map([
  ['hello.txt', encodeUtf8('héllo\n')],
  ['/home/ann/key', encodeUtf8('secret')],
  ['binary', Uint8Array.from([0xff, 0])],
])
const below = ['a.txt', 'b.json', '[x].md', 'sub/c.txt', 'sub/deep/d.txt', 'sub/deep/e.yaml']

const files: FileFunctions = {
  read: (path) => {
    const found = contents.get(path)
    return found === undefined ? err(`there is no file ${path}`) : ok(found)
  },
  exists: (path) => (path === 'sub' ? err('sub is a directory') : ok(contents.has(path))),
  list: (directory, depthMax) =>
    directory === 'conf'
      ? ok(below.filter((path) => path.split('/').length - 1 <= depthMax))
      : err(`there is no directory ${directory}`),
  absolute: (path) => (path.startsWith('/') ? path : `/jobs/${path}`),
  home: () => '/home/ann',
}

testCalls(
  [
    ['file("hello.txt")', String.raw`"héllo\n"`],
    ['file("~/key")', '"secret"'],
    ['file("missing")', fails('there is no file missing')],
    ['file("binary")', fails('"binary" is not UTF-8 text; use filebase64')],
    ['filebase64("binary")', '"/wA="'],
    ['filebase64("missing")', fails('there is no file missing')],
    ['fileexists("hello.txt")', 'true'],
    ['fileexists("~/key")', 'true'],
    ['fileexists("missing")', 'false'],
    ['fileexists("sub")', fails('sub is a directory')],

    ['fileset("conf", "*.txt")', '["a.txt"]'],
    ['fileset("conf", "**/*.txt")', '["a.txt","sub/c.txt","sub/deep/d.txt"]'],
    [
      'fileset("conf", "**")',
      '["[x].md","a.txt","b.json","sub/c.txt","sub/deep/d.txt","sub/deep/e.yaml"]',
    ],
    ['fileset("conf", "sub/*")', '["sub/c.txt"]'],
    ['fileset("conf", "{a,b}.{txt,json}")', '["a.txt","b.json"]'],
    ['fileset("conf", "?.txt")', '["a.txt"]'],
    ['fileset("conf", "[a-b].*")', '["a.txt","b.json"]'],
    ['fileset("conf", "[^a].*")', '["b.json"]'],
    [String.raw`fileset("conf", "\\[x\\].md")`, '["[x].md"]'],
    ['fileset("conf", "none")', '[]'],
    ['fileset("conf", "{a")', fails('pattern has a "{" without its "}"')],
    ['fileset("other", "*")', fails('there is no directory other')],

    ['abspath("a/../b")', '"/jobs/b"'],
    ['abspath("/x/")', '"/x"'],
    ['basename("foo/bar/baz.txt")', '"baz.txt"'],
    ['basename("foo/")', '"foo"'],
    ['basename("/")', '"/"'],
    ['basename("")', '"."'],
    ['dirname("foo/bar/baz.txt")', '"foo/bar"'],
    ['dirname("foo")', '"."'],
    ['dirname("/foo")', '"/"'],
    ['dirname("a//b/../c")', '"a"'],
    ['pathexpand("~/.ssh")', '"/home/ann/.ssh"'],
    ['pathexpand("~")', '"/home/ann"'],
    ['pathexpand("/a/~")', '"/a/~"'],
    ['pathexpand("~bob/x")', fails('only "~" and "~/…" can be expanded')],
  ],
  { files },
)

const homeless: FileFunctions = { ...files, home: () => undefined }
testCalls([['pathexpand("~/x")', fails('there is no home directory')]], { files: homeless })

const disabled =
  'filesystem function disabled: a server does not have your files. Write the text into the job file, or give it as a variable'
const names = ['abspath', 'basename', 'dirname', 'file', 'filebase64', 'fileexists', 'pathexpand']
testCalls([
  ...names.map((name) => [`${name}("x")`, fails(disabled)] as const),
  ['fileset("x", "*")', fails(disabled)],
  ['try(file("x"), "default")', '"default"'],
])
