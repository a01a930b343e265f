import { StreamLanguage, type StringStream } from '@codemirror/language'

/** Where the reader of a line is: inside what runs over several lines. */
interface HclState {
  inComment: boolean
  /** The word that ends a here-document. */
  ending: string | undefined
}

/** Job files: enough of the language to colour it; what is right and wrong the server says. */
export const hclLanguage = StreamLanguage.define<HclState>({
  name: 'hcl',
  startState: () => ({ inComment: false, ending: undefined }),
  token: (stream, state) => tokenOf(stream, state),
  languageData: { commentTokens: { line: '#', block: { open: '/*', close: '*/' } } },
})

function tokenOf(stream: StringStream, state: HclState): string | null {
  if (state.inComment) return readComment(stream, state)
  if (state.ending !== undefined) return readDocument(stream, state)
  if (stream.eatSpace()) return null
  if (stream.match(/^(?:#|\/\/).*/)) return 'comment'
  if (stream.match('/*')) {
    state.inComment = true
    return readComment(stream, state)
  }
  const opening = stream.match(/^<<[-~]?([A-Za-z_]\w*)/)
  if (Array.isArray(opening)) {
    state.ending = opening[1]
    return 'string'
  }
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return isBlockLabel(stream) ? 'typeName' : 'string'
  if (stream.match(/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return 'number'
  if (stream.match(/^(?:true|false|null)\b/)) return 'atom'
  if (stream.match(/^(?:for|in|if|else|endif|endfor)\b/)) return 'keyword'
  if (stream.match(/^[A-Za-z_][\w-]*(?=\s*=[^=])/)) return 'propertyName'
  if (stream.match(/^[A-Za-z_][\w-]*(?=\s*(?:"[^"]*"\s*)*\{)/)) return 'keyword'
  if (stream.match(/^[A-Za-z_][\w-]*(?=\()/)) return 'variableName.function'
  if (stream.match(/^[A-Za-z_][\w-]*/)) return 'variableName'
  stream.next()
  return 'operator'
}

/** A string before an opening brace names a block. */
function isBlockLabel(stream: StringStream): boolean {
  return stream.match(/^\s*(?:"[^"]*"\s*)*\{/, false) !== null
}

function readComment(stream: StringStream, state: HclState): string {
  if (stream.match(/^.*?\*\//)) state.inComment = false
  else stream.skipToEnd()
  return 'comment'
}

function readDocument(stream: StringStream, state: HclState): string {
  if (stream.sol() && stream.string.trim() === state.ending) state.ending = undefined
  stream.skipToEnd()
  return 'string'
}
